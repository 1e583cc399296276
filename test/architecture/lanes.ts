import { reachable } from './imports.ts'
import type { Violation } from './import-rules.ts'
import type { SourceFile } from './workspace.ts'

/** Imports with which a source starts a process or a thread. */
const STARTERS = [
  /^import\s+(?!type\b)[^'"`;]*?\sfrom\s+'node:child_process'/m,
  /^import\s+(?!type\b)[^'"`;]*?\b(?<!type )Worker\b[^'"`;]*?\sfrom\s+'node:worker_threads'/m,
  /^import\s+(?!type\b)[^'"`;]*?\sfrom\s+'[^']*\/built-programs\.ts'/m,
]
const SIZES = 'test/lanes/run-size.ts'

/** A test that starts something, by itself or by a fixture, is named `*.process.test.ts`. */
export function strayStarts(files: readonly SourceFile[]): Violation[] {
  // A source of the product that can start something need not do so in its test.
  const tests = files.filter(({ path }) => path.startsWith('test/'))
  const starters = new Set(tests.filter(isStarter).map(({ path }) => path))
  return inProcess(tests).flatMap(({ path }) => {
    const starter = reachable(tests, path).find((each) => starters.has(each))
    return starter === undefined ? [] : [`${path}: starts something by ${starter}`]
  })
}

/** A test of a size that `PALISADE_CASES` sets is named `*.property.test.ts`. */
export function straySizes(files: readonly SourceFile[]): Violation[] {
  return inProcess(files)
    .filter(({ path }) => !path.endsWith('.property.test.ts') && !path.startsWith('test/lanes/'))
    .filter(({ path }) => reachable(files, path).includes(SIZES))
    .map(({ path }) => `${path}: is a law, whose size differs between the lanes`)
}

function inProcess(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => path.endsWith('.test.ts') && !path.endsWith('.process.test.ts'))
}

function isStarter({ text }: SourceFile): boolean {
  return STARTERS.some((form) => form.test(text))
}
