" Colours of denpex rules, for Vim and Neovim.

if exists("b:current_syntax")
  finish
endif

" Words are matches and no keywords, which would win over the names that hold them. Of two that start in one place the last wins.
syntax match denpexNumber /\<\d\+\%(\.\d\+\)\?\%(\h\w*\)\?/
syntax match denpexOperator /[=!<>]=\|[=<>&+-]\|\.\./
syntax match denpexFunction /\<\h\w*(\@=/
syntax match denpexField /\<\%(rank\|local_rank\|host\|device\|pid\|job\|attempt\)\>/
syntax match denpexStatement /\<\%(blame\|causes\|class\|confirm\|do\|event\|identity\|impact\|language\|let\|level\|like\|moment\|onset\|per\|quiet\|ref\|refute\|reporter\|require\|rule\|see\|status\|summary\|tags\|title\|unless\|unlike\|use\|verify\|victim\|why\|with\)\>/
syntax match denpexWord /\<\%(after\|all\|and\|any\|as\|at\|because\|before\|between\|certain\|count\|debug\|distinct\|each\|else\|error\|expensive\|fatal\|first\|for\|give\|in\|info\|last\|likely\|next\|none\|on\|since\|time\|warning\|when\|where\|within\)\>/
syntax match denpexPath /\<\h\w*\%(\.\h\w*\)\+/
syntax match denpexRule /\%(\<rule\s\+\)\@<=\h\w*\%(\.\h\w*\)*/
syntax match denpexEvent /\%(\<event\s\+\)\@<=\h\w*/
syntax match denpexTag /\%(\<tags\s\+\%(\h[0-9A-Za-z_-]*\s*,\s*\)*\)\@<=\h[0-9A-Za-z_-]*/
syntax match denpexEscape /\\.\|{{\|}}/ contained
syntax match denpexTemplate /{\%(\h\w*\)\?:\h\w*}/ contained
syntax match denpexRegex /\/\%(\\.\|[^\/\\]\)\+\// contains=denpexEscape
syntax region denpexText start=/"/ skip=/\\./ end=/"/ oneline contains=denpexEscape,denpexTemplate
syntax match denpexComment /#.*/ contains=@Spell

highlight default link denpexNumber Number
highlight default link denpexOperator Operator
highlight default link denpexFunction Function
highlight default link denpexField Identifier
highlight default link denpexStatement Statement
highlight default link denpexWord Keyword
highlight default link denpexRule Type
highlight default link denpexEvent Function
highlight default link denpexTag Label
highlight default link denpexEscape SpecialChar
highlight default link denpexTemplate Special
highlight default link denpexRegex String
highlight default link denpexText String
highlight default link denpexComment Comment

let b:current_syntax = "denpex"
