import { readConfig } from '@palisade/server'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FOREIGN_SETTINGS } from '../../../server/src/config/unknown-settings.ts'

const root = join(import.meta.dirname, '../../..')
/** Sources of the programs that may share an environment with the server. */
const OTHER_PROGRAMS = [
  'agent/src/**/*.ts',
  'packages/{cli,client}/src/**/*.ts',
  'packages/launcher/**/*.{ts,mjs}',
  'examples/demo/**/*.ts',
]

const problemsOf = (environment: Record<string, string>): readonly string[] => {
  try {
    readConfig(environment, '/srv')
    return []
  } catch (error) {
    return (error as { problems: readonly string[] }).problems
  }
}

describe('a variable that no program reads', () => {
  it.each([
    ['PALISADE_TLS_CRT', 'PALISADE_TLS_CERT'],
    ['PALISADE_PUBLICURL', 'PALISADE_PUBLIC_URL'],
    ['PALISADE_DATABASE_URL', 'DATABASE_URL'],
  ])('is refused with a suggestion: %s, %s', (name, meant) => {
    expect(problemsOf({ [name]: 'x' })).toEqual([
      `\`${name}\` is not a setting; write \`${meant}\``,
    ])
  })

  it('is refused without a suggestion when no name is similar', () => {
    expect(problemsOf({ PALISADE_COLOUR: 'blue', PALISADE_PORT: 'x' })).toEqual([
      '`PALISADE_PORT` must be a whole number from 0 to 65535',
      '`PALISADE_COLOUR` is not a setting; `palisade-server --help` lists all',
    ])
  })

  it('is ignored without the prefix of Palisade', () => {
    expect(problemsOf({ TLS_CRT: 'x', palisade_port: 'x' })).toEqual([])
  })
})

it('accepts each setting of agent, CLI and launcher', () => {
  const files = OTHER_PROGRAMS.flatMap((pattern) => globSync(pattern, { cwd: root }))
  const texts = files.map((file) => readFileSync(join(root, file), 'utf8'))
  const read = new Set(texts.flatMap((text) => text.match(/\bPALISADE_[A-Z_]*[A-Z]\b/g) ?? []))
  expect(read.size).toBeGreaterThan(FOREIGN_SETTINGS.length)

  for (const name of read) expect(problemsOf({ [name]: '1' }).join()).not.toContain('not a setting')
  for (const name of FOREIGN_SETTINGS) expect(read).toContain(name)
})
