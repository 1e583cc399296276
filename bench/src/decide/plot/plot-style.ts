/** One colour per contender, the same in every panel: on white, and on near black. */
const COLOURS: readonly (readonly [contender: string, light: string, dark: string])[] = [
  ['palisade decide', '#0550ae', '#58a6ff'],
  ['Map.get', '#57606a', '#9da7b3'],
  ['one RegExp', '#bc4c00', '#f0883e'],
  ['re2-wasm', '#bf3989', '#f778ba'],
  ['picomatch', '#1a7f37', '#3fb950'],
  ['minimatch', '#8250df', '#bc8cff'],
  ['sandbox-runtime', '#0a7b83', '#39c5cf'],
  ['net.BlockList', '#cf222e', '#ff7b72'],
  ['ipaddr.js', '#4d6b00', '#a5c261'],
  ['casbin', '#7d4e00', '#d4a259'],
  ['cedar-wasm', '#6e5494', '#a79bd8'],
]

/** The CSS class for a contender's line and name. */
export function classOf(contender: string): string {
  const index = COLOURS.findIndex(([name]) => name === contender)
  return index < 0 ? 'other' : index === 0 ? 'ours c0' : `c${index}`
}

/** An image sees the reader's colour scheme but not the page's, so it has its own background. */
export const STYLE_SHEET = `
text{font:13px "DejaVu Sans",Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:17px;font-weight:bold}.panel{font-size:15px;font-weight:bold}
.about{font-size:11px;fill:#57606a}.tick{font-size:12px;fill:#57606a}
.page{fill:#ffffff}.grid{fill:none;stroke:#e4e8ec}
.line polyline,.thread{fill:none}.line{stroke-width:1.8;fill:#ffffff}
.line.ours{stroke-width:4}.name.ours{font-weight:bold}
.thread{stroke-width:0.8;stroke-dasharray:1 3}
.line.c1{stroke-dasharray:6 4}.line.c1 circle{stroke-dasharray:none}
${coloursOf(1)}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.about,.tick{fill:#9da7b3}.page{fill:#0d1117}
.grid{stroke:#262c36}.line{fill:#0d1117}
${coloursOf(2)}
}
`

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function coloursOf(scheme: 1 | 2): string {
  return COLOURS.map(
    (colours, index) =>
      `.c${index}{stroke:${colours[scheme]}}.name.c${index}{stroke:none;fill:${colours[scheme]}}`,
  ).join('\n')
}
