import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { reachable } from '../architecture/imports.ts'
import { readSources } from '../architecture/workspace.ts'
import { NEEDED_BY } from './needs.ts'

/** The tests that cannot run without some programs. */
export function testsOfMissing(
  root: string,
  missing: readonly string[],
): { readonly files: readonly string[]; readonly tests: number } {
  const sources = readSources(root)
  const files = sources
    .map(({ path }) => path)
    .filter((path) => path.endsWith('.process.test.ts'))
    .filter((path) => {
      const reached = reachable(sources, path)
      return NEEDED_BY.some(
        ({ source, programs }) =>
          programs.some((program) => missing.includes(program)) &&
          reached.some((each) => each.startsWith(source)),
      )
    })
  return { files, tests: files.length === 0 ? 0 : countTests(root, files) }
}

function countTests(root: string, files: readonly string[]): number {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'list', '--json', '--staticParse=false', '--project', 'process', ...files]
  const { stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  return (JSON.parse(stdout) as readonly unknown[]).length
}
