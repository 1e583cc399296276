import { describe, expect, it } from 'vitest'
import { reflow } from '../../../packages/cli/src/terminal/reflow.ts'
import { createShortIds } from '../../../packages/cli/src/terminal/short-ids.ts'
import { createStyle, formatTime } from '../../../packages/cli/src/terminal/style.ts'
import { formatRow, formatTable } from '../../../packages/cli/src/terminal/table.ts'
import { fitWidths, wrapText } from '../../../packages/cli/src/terminal/wrap.ts'

const AT_40 = createStyle(false, 40)
const WIDE = createStyle(false, 40, () => true)

describe('a table', () => {
  it('has colours of its cells, and none that a cell writes itself', () => {
    const rows = [[['fresh', { text: 'linux-strict', tone: 'quiet' }], 'a\u001b[31mb']] as const

    const text = formatTable(['STATE', 'NAME'], rows, createStyle(true, 80))

    expect(text).toContain('\u001b[2mlinux-strict\u001b[22m')
    expect(text).not.toContain('\\u001b[2m')
    expect(text).toContain('a\\u001b[31mb')
  })

  it('fits the terminal, and keeps every character', () => {
    const target = 'connect:tcp registry.npmjs.example.com:443 at 203.0.113.80'

    const text = formatTable(['NAME', 'TARGET'], [['the first of all', target]], AT_40)

    const lines = text.trimEnd().split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(40)
    expect(
      lines
        .slice(1)
        .map((line) => line.slice(18).trim())
        .join('')
        .replaceAll(' ', ''),
    ).toBe(target.replaceAll(' ', ''))
  })

  it('is not wrapped when it is no terminal', () => {
    const text = formatTable(['A'], [['x'.repeat(200)]], createStyle(false))

    expect(text).toBe(`A\n${'x'.repeat(200)}\n`)
  })

  it('shows some columns only with `--wide`', () => {
    const columns = ['NAME', { wide: 'ID' }]

    expect(formatTable(columns, [['a', 'id_1']], AT_40)).toBe('NAME\na\n')
    expect(formatTable(columns, [['a', 'id_1']], WIDE)).toBe('NAME  ID\na     id_1\n')
  })
})

it('a row of a log wraps within its columns on a terminal, and has one line elsewhere', () => {
  const cells = ['deny', 'a.example.com:443 at 203.0.113.80', { text: 'x', tone: 'quiet' }] as const

  expect(formatRow(cells, [5, 20, 4], AT_40)).toBe(
    'deny   a.example.com:443 at  x\n       203.0.113.80\n',
  )
  expect(formatRow(cells, [5, 20, 4], createStyle(false)).split('\n')).toHaveLength(2)
})

it.each([
  ['short', 10, ['short']],
  ['one two three', 8, ['one two', 'three']],
  ['/home/dev/project/file', 12, ['/home/dev/', 'project/file']],
  ['asked: default_deny', 14, ['asked:', 'default_deny']],
  ['read /srv/data/project/file', 16, ['read /srv/data/', 'project/file']],
  ['a abcdefghij', 4, ['a ab', 'cdef', 'ghij']],
  ['abcdefghij', 4, ['abcd', 'efgh', 'ij']],
  ['', 4, ['']],
])('wraps %j into %i characters', (text, width, lines) => {
  expect(wrapText(text, width)).toEqual(lines)
})

it('narrows the widest columns first, and none below a readable width', () => {
  expect(fitWidths([4, 40, 20], 50)).toEqual([4, 26, 20])
  expect(fitWidths([4, 40, 20], 10)).toEqual([4, 6, 6])
  expect(fitWidths([4, 40], Infinity)).toEqual([4, 40])
})

it('shortens ids to beginnings that differ', () => {
  const shorten = createShortIds(['acr_06gz0001aaaa', 'acr_06gz0001bbbb', 'acr_07'], false)

  expect(['acr_06gz0001aaaa', 'acr_06gz0001bbbb', 'acr_07'].map(shorten)).toEqual([
    'acr_06gz0001a…',
    'acr_06gz0001b…',
    'acr_07',
  ])
  expect(createShortIds(['acr_06gz0001aaaa'], true)('acr_06gz0001aaaa')).toBe('acr_06gz0001aaaa')
})

it('shows times to the second, and whole ones with `--wide`', () => {
  expect(formatTime('2026-11-21T11:57:00.123Z', AT_40)).toBe('2026-11-21 11:57:00Z')
  expect(formatTime('2026-11-21T11:57:00.123Z', WIDE)).toBe('2026-11-21T11:57:00.123Z')
  expect(formatTime('never', AT_40)).toBe('never')
})

describe('a help text', () => {
  it('is wrapped once: lines of a paragraph are joined first', () => {
    const text =
      'A workspace is judged by its real path: `ro` needs `read`, and `rw`, the\n' +
      'default, needs both.\n\nExamples:\n  palisade run\n  palisade exec'

    expect(reflow(text, 80)).toBe(
      'A workspace is judged by its real path: `ro` needs `read`, and `rw`, the\n' +
        'default, needs both.\n\nExamples:\n  palisade run\n  palisade exec',
    )
    expect(reflow(text, 50).split('\n').slice(0, 2)).toEqual([
      'A workspace is judged by its real path: `ro` needs',
      '`read`, and `rw`, the default, needs both.',
    ])
  })

  it.each(['$PALISADE_CONFIG_DIR', '"acme"', '.palisade.yaml', '/work'])(
    'goes on in a line that begins with %s',
    (word) => {
      const before = 'The token is stored in credentials.json (mode 0600) in the folder'

      expect(reflow(`${before}\n${word} of its user.`, 60)).toBe(
        `The token is stored in credentials.json (mode 0600) in the\nfolder ${word} of its user.`,
      )
    },
  )

  it('continues the text of a term below itself', () => {
    expect(reflow('  --json <x>  print one JSON object with everything', 40)).toBe(
      '  --json <x>  print one JSON object with\n              everything',
    )
  })

  it.each([
    ['a command', `  palisade request example.com:443 --reason 'release of the week' --wait`],
    ['a line of JSON', `      "command": "PALISADE_DATA_DIR=/data palisade hook claude"`],
    ['a long word', 'x'.repeat(60)],
  ])('leaves %s alone', (_what, line) => {
    expect(reflow(line, 40)).toBe(line)
  })
})
