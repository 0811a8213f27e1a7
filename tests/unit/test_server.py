"""The language server, driven over standard input and output by a client library."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from desks import OTHER, RULE, SHARED, at, pack, work
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

__all__ = ["pack", "work"]

LABELS = ["→ device = 0000:06:00", "→ refused: the pattern is not in it"]
LIMIT = 60  # seconds for anything that the server is waited for


class Editor(LanguageClient):
    """A client that remembers what the server publishes."""

    def __init__(self) -> None:
        super().__init__("editor", "1")
        self.published: dict[str, list[lsp.PublishDiagnosticsParams]] = {}
        self.registered: list[str] = []
        self.shown: list[str] = []

    async def told(self, uri: str, fits: Callable[[lsp.PublishDiagnosticsParams], bool]) -> lsp.PublishDiagnosticsParams:
        """Wait for diagnostics that fit."""
        for _ in range(LIMIT * 20):
            for one in self.published.get(uri, ()):
                if fits(one):
                    return one
            await asyncio.sleep(0.05)
        raise AssertionError(f"never published: {self.published.get(uri)}")

    def write(self, uri: str, text: str, version: int) -> None:
        """Open a document, or replace its text."""
        if version == 1:
            item = lsp.TextDocumentItem(uri=uri, language_id="denpex", version=1, text=text)
            self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
            return
        document = lsp.VersionedTextDocumentIdentifier(uri=uri, version=version)
        changes = [lsp.TextDocumentContentChangeWholeDocument(text)]
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(document, changes))


def drive(folder: Path, script: Callable[[Editor, lsp.InitializeResult], Awaitable[None]], *encodings: str) -> None:
    """Start the server, run a script against it, and end it in order."""

    async def run() -> None:
        editor = Editor()

        @editor.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _published(params: lsp.PublishDiagnosticsParams) -> None:
            editor.published.setdefault(params.uri, []).append(params)

        @editor.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def _registered(params: lsp.RegistrationParams) -> None:
            editor.registered += [one.method for one in params.registrations]

        @editor.feature(lsp.WINDOW_SHOW_MESSAGE)
        def _shown(params: lsp.ShowMessageParams) -> None:
            editor.shown.append(params.message)

        await editor.start_io(sys.executable, "-m", "denpex_rules", "lsp")
        watching = lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
        capabilities = lsp.ClientCapabilities(
            general=lsp.GeneralClientCapabilities(position_encodings=list(encodings)) if encodings else None,
            workspace=lsp.WorkspaceClientCapabilities(did_change_watched_files=watching),
        )
        folders = [lsp.WorkspaceFolder(folder.as_uri(), "pack")]
        params = lsp.InitializeParams(capabilities=capabilities, workspace_folders=folders)
        result = await asyncio.wait_for(editor.initialize_async(params), LIMIT)
        editor.initialized(lsp.InitializedParams())
        await script(editor, result)
        assert editor.shown == []
        await asyncio.wait_for(editor.shutdown_async(None), LIMIT)
        editor.exit(None)
        assert editor._server is not None
        assert await asyncio.wait_for(editor._server.wait(), LIMIT) == 0
        await editor.stop()

    asyncio.run(run())


def place(text: str, mark: str) -> lsp.Position:
    """Return the position of a mark in an ASCII text."""
    before = text[: at(text, mark)]
    return lsp.Position(before.count("\n"), len(before) - (before.rfind("\n") + 1))


def test_a_session(pack: Path) -> None:
    """Everything that an editor asks is answered, in the editor's unit of columns."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    document = lsp.TextDocumentIdentifier(uri)
    wide = RULE.replace('"Drain {lost.host}', '"\U0001f600 {lost.host}')

    async def script(editor: Editor, result: lsp.InitializeResult) -> None:
        assert result.capabilities.position_encoding == "utf-8"
        assert result.server_info is not None
        assert result.server_info.name == "rulecheck"
        editor.write(uri, wide, 1)
        await editor.told(uri, lambda p: not p.diagnostics)
        line = RULE[: RULE.index("  do ")].count("\n")
        card = await editor.text_document_hover_async(
            lsp.HoverParams(document, lsp.Position(line, len('  do     "\U0001f600 {lost.h') + 3))
        )
        assert card is not None
        assert card.range is not None
        assert card.range.start.character == len('  do     "\U0001f600 {lost.') + 3
        position = place(RULE, "confirm time¦out")
        found = await editor.text_document_definition_async(lsp.DefinitionParams(document, position))
        assert isinstance(found, lsp.Location)
        assert found.uri == (pack / "lib" / "calls.rule").as_uri()
        uses = await editor.text_document_references_async(lsp.ReferenceParams(lsp.ReferenceContext(True), document, position))
        assert uses is not None
        assert len(uses) == 9
        prepared = await editor.text_document_prepare_rename_async(lsp.PrepareRenameParams(document, position))
        assert isinstance(prepared, lsp.PrepareRenamePlaceholder)
        assert prepared.placeholder == "timeout"
        edit = await editor.text_document_rename_async(lsp.RenameParams(document, position, "expired"))
        assert edit is not None
        assert edit.changes is not None
        assert len(edit.changes) == 3
        symbols = await editor.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        assert symbols is not None
        assert [one.name for one in symbols] == ["gpu.lost"]
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
        hints = await editor.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
        assert hints is not None
        assert [hint.label for hint in hints] == [
            "→ device = 0000:06:00",
            "→ refused: the pattern is not in it",
        ]
        options = lsp.FormattingOptions(tab_size=2, insert_spaces=True)
        edits = await editor.text_document_formatting_async(lsp.DocumentFormattingParams(document, options))
        assert edits is not None
        for _ in range(LIMIT * 20):
            if editor.registered:
                break
            await asyncio.sleep(0.05)
        assert editor.registered == ["workspace/didChangeWatchedFiles"]

    drive(pack, script, "utf-8", "utf-16")


def test_mistakes_as_an_author_types(pack: Path) -> None:
    """Diagnostics follow the text, with ways out; advice comes when there are no mistakes; closing a file clears them."""
    uri = (pack / "gpu" / "lost.rule").as_uri()
    document = lsp.TextDocumentIdentifier(uri)

    async def script(editor: Editor, result: lsp.InitializeResult) -> None:
        assert result.capabilities.position_encoding == "utf-16"
        editor.write(uri, RULE.replace("fell_off_bus", "fell_of_bus"), 1)
        told = await editor.told(uri, lambda p: p.version == 1)
        assert [one.code for one in told.diagnostics] == ["E0601"]
        params = lsp.CodeActionParams(document, told.diagnostics[0].range, lsp.CodeActionContext(list(told.diagnostics)))
        actions = await editor.text_document_code_action_async(params)
        assert actions is not None
        assert len(actions) == 1
        editor.write(uri, RULE.replace("  do ", "  # do "), 2)
        told = await editor.told(uri, lambda p: p.version == 2 and bool(p.diagnostics))
        assert [one.code for one in told.diagnostics] == ["L0106"]
        items = await editor.text_document_completion_async(lsp.CompletionParams(document, place(RULE, "class  gpu.¦fell")))
        assert isinstance(items, lsp.CompletionList)
        assert "own.trouble" in {item.label for item in items.items}
        editor.published.clear()
        editor.text_document_did_close(lsp.DidCloseTextDocumentParams(document))
        assert (await editor.told(uri, lambda _: True)).diagnostics == ()

    drive(pack, script)


def test_other_files_follow(pack: Path) -> None:
    """A changed building block, open or on disk, is a mistake in the rules that use it; what can't be renamed is refused."""
    uri, shared = (pack / "gpu" / "other.rule").as_uri(), pack / "lib" / "calls.rule"
    untitled = "untitled:Untitled-1"

    async def script(editor: Editor, _result: lsp.InitializeResult) -> None:
        editor.write(uri, OTHER.replace("\n", "\r\n"), 1)
        await editor.told(uri, lambda p: not p.diagnostics)
        changed = SHARED.replace("event timeout", "event expired")
        editor.write(shared.as_uri(), changed, 1)
        await editor.told(uri, lambda p: [d.code for d in p.diagnostics] == ["E0203"])
        editor.published.clear()
        shared.write_text(SHARED.replace("event loss", "event lossy"), encoding="utf-8")
        editor.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(shared.as_uri())))
        event = lsp.FileEvent(shared.as_uri(), lsp.FileChangeType.Changed)
        editor.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
        await editor.told(uri, lambda p: not p.diagnostics)
        editor.write(untitled, "language 1\nrule a.b {\n", 1)
        await editor.told(untitled, lambda p: "E0102" in {d.code for d in p.diagnostics})
        where = lsp.RenameParams(lsp.TextDocumentIdentifier(uri), place(OTHER, "rule gpu.ot¦her"), "x")
        with pytest.raises(JsonRpcException, match="named for its file") as refused:
            await editor.text_document_rename_async(where)
        assert refused.value.code == -32803
        editor.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

    drive(pack, script, "utf-16")
