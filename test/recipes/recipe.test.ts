import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../server/temporary-directory.ts'
import { COMMAND } from './command/recipe.ts'
import { applyRecipe } from './recipe.ts'

const COMMANDS = 'packages/cli/src/commands.ts'
const [edit] = COMMAND.edits
const anchor = edit !== undefined && 'after' in edit ? edit.after : ''

/** A copy with a single file. */
function copyWith(text: string): string {
  const copy = temporaryDirectory()
  mkdirSync(dirname(join(copy, COMMANDS)), { recursive: true })
  writeFileSync(join(copy, COMMANDS), text)
  return copy
}

describe('a recipe', () => {
  it('adds its lines after their anchor, and its files', () => {
    const copy = copyWith(`first\n${anchor}\nlast\n`)
    applyRecipe(COMMAND, copy)

    expect(readFileSync(join(copy, COMMANDS), 'utf8').split('\n')).toEqual([
      'first',
      anchor,
      expect.stringContaining('socket: async'),
      'last',
      '',
    ])
    const file = join(copy, 'packages/cli/src/machine/socket-command.ts')
    expect(readFileSync(file, 'utf8')).toContain('addSocketCommand')
  })

  it.each([
    ['is missing', 'first\n'],
    ['is there twice', `${anchor}\n${anchor}\n`],
  ])('fails with its name and the file when an anchor %s', (_, text) => {
    expect(() => applyRecipe(COMMAND, copyWith(text))).toThrow(
      `the recipe \`command\` is stale: ${COMMANDS} does not have the line`,
    )
  })

  it('replaces a text that a file has once', () => {
    const edits = [{ file: COMMANDS, replace: 'one', by: 'two' }]
    const copy = copyWith('just one\n')
    applyRecipe({ ...COMMAND, edits }, copy)

    expect(readFileSync(join(copy, COMMANDS), 'utf8')).toBe('just two\n')
    expect(() => applyRecipe({ ...COMMAND, edits }, copyWith('one, one'))).toThrow(
      `the recipe \`command\` is stale: ${COMMANDS} does not have \`one\` once`,
    )
  })
})
