import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { NEEDED_BY } from './needs.ts'
import { PACKAGES } from './programs.mjs'

const ROOT = join(import.meta.dirname, '../..')

it.each(NEEDED_BY)('$source is there, and its programs have packages', ({ source, programs }) => {
  const path = join(ROOT, source)
  expect(existsSync(path) || globSync(`${path}*`).length > 0).toBe(true)
  for (const program of programs) expect(PACKAGES).toHaveProperty([program])
})
