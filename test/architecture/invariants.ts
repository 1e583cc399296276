import type { Violation } from './import-rules.ts'

/** Each invariant of ARCHITECTURE.md names a test of the fast lane. */
export function untestedInvariants(
  architecture: string,
  exists: (path: string) => boolean,
): Violation[] {
  const rows = invariantsOf(architecture)
  if (rows.length === 0) return ['ARCHITECTURE.md: has no invariants']
  return rows.flatMap(({ name, tests }) =>
    tests.length === 0
      ? [`ARCHITECTURE.md: has no test for: ${name}`]
      : tests
          .filter((test) => !/(?<!\.process)\.test\.ts$/.test(test) || !exists(test))
          .map((test) => `ARCHITECTURE.md: \`${test}\` is no test of the fast lane`),
  )
}

/** The first cells of the rows of the table, and all cells that quote a test. */
function invariantsOf(architecture: string): { name: string; tests: string[] }[] {
  const [, section = ''] = architecture.split('## Invariants\n')
  const [table = ''] = section.split(/^#/m)
  return table
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| Invariant'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, name = '']) => !/^-*$/.test(name))
    .map(([, name = '', tests = '']) => ({
      name,
      tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    }))
}
