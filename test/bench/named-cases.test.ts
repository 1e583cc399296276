import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SUBJECTS } from '../../bench/src/subjects.ts'
import { readSources } from '../architecture/workspace.ts'

const ROOT = join(import.meta.dirname, '../..')
const PRODUCTS = /^(?:agent|server|packages)\//

it('has each case that a comment of a source names', () => {
  const cases = SUBJECTS.flatMap(({ name, cases: all }) => all.map((each) => `${name}/${each}`))
  const named = readSources(ROOT)
    .filter(({ path }) => PRODUCTS.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bbench: ([a-z][\w/-]*)/g)].map(([, name]) => ({ path, name })),
    )

  expect(named.length).toBeGreaterThan(0)
  expect(named.filter(({ name }) => !cases.includes(name ?? ''))).toEqual([])
})
