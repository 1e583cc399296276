import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { temporaryDirectory } from '../server/temporary-directory.ts'
import { ACTION } from './action/recipe.ts'
import { COMMAND } from './command/recipe.ts'
import { copySources } from './copy-sources.ts'
import { ENDPOINT } from './endpoint/recipe.ts'
import { ENFORCEMENT_POINT } from './enforcement-point/recipe.ts'
import { applyRecipe } from './recipe.ts'
import { TABLE } from './table/recipe.ts'

const run = promisify(execFile)
const RECIPES = [ENDPOINT, TABLE, ACTION, COMMAND, ENFORCEMENT_POINT]
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

const onEnd: (() => unknown)[] = []
let copy = ''
/** The files that the recipes write. */
const written = new Set<string>()

/** Runs a program of the copy. Throws with its output. */
async function runInCopy(program: string, ...words: readonly string[]): Promise<void> {
  const file = join(copy, 'node_modules', program)
  // Nothing of this run: a test of the copy is one of its own.
  const env = { PATH: process.env['PATH'], TMPDIR: tmpdir() }
  const options = { cwd: copy, env, maxBuffer: MAX_OUTPUT_BYTES }
  await run(process.execPath, [file, ...words], options).catch((error: unknown) => {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${words.join(' ')} failed:\n${stdout}${stderr}`)
  })
}

// All recipes go into one copy, because compiling takes most of the time of one.
beforeAll(async () => {
  copy = join(
    temporaryDirectory((end) => onEnd.push(end)),
    'copy',
  )
  copySources(copy)
  for (const recipe of RECIPES) for (const file of applyRecipe(recipe, copy)) written.add(file)
  await runInCopy('typescript/bin/tsc', '--build', 'test')
})

afterAll(async () => {
  for (const end of onEnd) await end()
})

describe('a recipe of CONTRIBUTING.md', () => {
  it('passes the linter once its code is formatted', async () => {
    await runInCopy('prettier/bin/prettier.cjs', '--write', ...written)
    await runInCopy('oxlint/bin/oxlint', '--type-aware', ...written)
  })

  it.each(RECIPES)('leads to a working project: $name', async ({ tests, titles }) => {
    const some = titles === undefined ? [] : ['--testNamePattern', titles]
    await runInCopy('vitest/vitest.mjs', 'run', '--project', 'fast', ...some, ...tests)
  })
})
