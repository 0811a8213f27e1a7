"""The language server: what an editor asks over standard input, and the answers of a desk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from denpex_rules import __version__
from denpex_rules.desk import Desk, path_of
from denpex_rules.errors import UsageError
from denpex_rules.library import SUFFIX

PAUSE: Final = 0.15  # seconds without a change before mistakes are looked for
REST: Final = 0.4  # seconds more before advice is looked for
REFUSED: Final = -32803  # the protocol's code for a request that can't be done
BREATH: Final = 0.01  # seconds between two steps of reading ahead
WATCHED: Final = ("**/*.rule", "**/taxonomy.toml")
MOST_WARMED: Final = 2000  # folders below each open one whose rules are read ahead


class RuleServer(LanguageServer):
    """A server with one desk. Diagnostics are sent after a pause: mistakes first, advice when the author rests."""

    def __init__(self) -> None:
        super().__init__("rulecheck", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
        self.desk = Desk()
        self._due: dict[str, asyncio.Task[None]] = {}

    def check_soon(self, uri: str, pause: float = PAUSE) -> None:
        """Send the diagnostics of a document after a pause; a call before its end starts the pause again."""
        self.forget(uri)
        task = self._due[uri] = asyncio.get_running_loop().create_task(self._check(uri, pause))
        task.add_done_callback(self._ended)

    def check_all(self, uri: str) -> None:
        """Check a document, and where it holds building blocks all others that are open."""
        self.check_soon(uri)
        if self.desk.workspace.sheet(path_of(uri)).shared:
            for path in self.desk.workspace.opened:
                if self.desk.uri(path) != uri:
                    self.check_soon(self.desk.uri(path), PAUSE + REST)

    def forget(self, uri: str) -> None:
        """Drop the check of a document that is due."""
        task = self._due.pop(uri, None)
        if task is not None:
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:  # a plug-in, or a disk that went away: the author has to know why nothing is checked
            message = f"this file can't be checked: {error}"
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, message))

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        mistakes = self.desk.mistakes(uri)
        self._publish(uri, mistakes)
        if mistakes:
            return
        await asyncio.sleep(REST)
        told = await asyncio.get_running_loop().run_in_executor(None, self.desk.advice(uri))
        advice = told()
        if advice:
            self._publish(uri, advice)

    def _publish(self, uri: str, diagnostics: list[lsp.Diagnostic]) -> None:
        version = self.workspace.get_text_document(uri).version
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics, version))

    def refresh(self) -> None:
        """Look again at the disk, and check what is open."""
        for path in self.desk.workspace.opened:
            self.desk.workspace.refresh(path)
            self.check_soon(self.desk.uri(path))

    def warm(self) -> Iterator[None]:
        """Read the rule files of the open folders ahead, one a step."""
        workspace = self.desk.workspace
        for top in workspace.folders:
            for _, (folder, inner, names) in zip(range(MOST_WARMED), os.walk(top), strict=False):
                inner[:] = sorted(name for name in inner if not name.startswith(".") and name != "node_modules")
                for name in sorted(names):
                    if name.endswith(SUFFIX):
                        workspace.outline(str(Path(folder, name)))
                        yield
                yield


server: Final = RuleServer()


# ------------------------------------------------------------------ the connection


@server.feature(lsp.INITIALIZE)
def _initialize(ls: RuleServer, params: lsp.InitializeParams) -> None:
    folders = [folder.uri for folder in params.workspace_folders or ()]
    if not folders and params.root_uri:
        folders = [params.root_uri]
    ls.desk.start(folders, str(ls.workspace.position_encoding or "utf-16"))


@server.feature(lsp.INITIALIZED)
async def _initialized(ls: RuleServer, _params: lsp.InitializedParams) -> None:
    workspace = ls.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is not None and watching.dynamic_registration:
        watchers = [lsp.FileSystemWatcher(glob) for glob in WATCHED]
        options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = lsp.Registration("rules", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        ls.client_register_capability(lsp.RegistrationParams([registration]))
    for _ in ls.warm():
        await asyncio.sleep(BREATH)


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
async def _opened(ls: RuleServer, params: lsp.DidOpenTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.desk.open(uri, params.text_document.text)
    ls.check_all(uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def _changed(ls: RuleServer, params: lsp.DidChangeTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.desk.open(uri, ls.workspace.get_text_document(uri).source)
    ls.check_all(uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
async def _saved(ls: RuleServer, _params: lsp.DidSaveTextDocumentParams) -> None:
    ls.refresh()


@server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
async def _watched(ls: RuleServer, _params: lsp.DidChangeWatchedFilesParams) -> None:
    ls.refresh()


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
async def _closed(ls: RuleServer, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.forget(uri)
    ls.desk.close(uri)
    ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


# ------------------------------------------------------------------ requests


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "{", ":", '"']))
def _complete(ls: RuleServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    return ls.desk.complete(params.text_document.uri, params.position)


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def _hover(ls: RuleServer, params: lsp.HoverParams) -> lsp.Hover | None:
    return ls.desk.hover(params.text_document.uri, params.position)


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def _definition(ls: RuleServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    return ls.desk.definition(params.text_document.uri, params.position)


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def _references(ls: RuleServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    return ls.desk.references(params.text_document.uri, params.position, defining=params.context.include_declaration)


@server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
def _renamed(ls: RuleServer, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
    try:
        return ls.desk.renamed(params.text_document.uri, params.position)
    except UsageError as error:
        raise JsonRpcException(str(error), REFUSED) from error


@server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
def _rename(ls: RuleServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
    try:
        return ls.desk.rename(params.text_document.uri, params.position, params.new_name)
    except UsageError as error:
        raise JsonRpcException(str(error), REFUSED) from error


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def _symbols(ls: RuleServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    return ls.desk.symbols(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def _format(ls: RuleServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    return ls.desk.format(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]))
def _actions(ls: RuleServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    return ls.desk.actions(params.text_document.uri, params.range)


@server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def _hints(ls: RuleServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    return ls.desk.hints(params.text_document.uri, params.range)
