import { expect, it } from 'vitest'
import { createProgram } from '../../../../server/src/cli/program/program.ts'
import { SETTING_NAMES } from '../../../../server/src/config/config.ts'

function helpText(): string {
  let text = ''
  const program = createProgram().configureOutput({ writeOut: (chunk) => (text += chunk) })
  program.outputHelp()
  return text
}

it('explains every setting once, and no unknown one', () => {
  const explained = Array.from(
    helpText().matchAll(/^ {2}([A-Z][A-Z_]+) {2,}\S/gm),
    ([, name]) => name,
  )

  expect(new Set(explained)).toEqual(new Set(SETTING_NAMES))
  expect(explained).toHaveLength(SETTING_NAMES.length)
})

it('quotes input of a user in back-ticks', () => {
  let text = ''
  const program = createProgram().configureOutput({ writeErr: (chunk) => (text += chunk) })

  expect(() => program.parse(['--prt'], { from: 'user' })).toThrow('--prt')

  expect(text).toContain('unknown option `--prt`')
})
