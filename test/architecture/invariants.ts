import type { Violation } from './import-rules.ts'

/** The first cells of the rows of the table below a heading, and all cells that quote a test. */
function rowsBelow(text: string, heading: string): { name: string; tests: string[] }[] {
  const [, section = ''] = text.split(`${heading}\n`)
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

/** Each invariant of ARCHITECTURE.md stands in CONTRIBUTING.md, with a test of the fast lane. */
export function untestedInvariants(
  architecture: string,
  contributing: string,
  exists: (path: string) => boolean,
): Violation[] {
  const invariants = rowsBelow(architecture, '## Invariants').map(({ name }) => name)
  const rows = new Map(
    rowsBelow(contributing, '### The fast lane and the invariants').map((row) => [row.name, row]),
  )
  const missing = invariants
    .filter((name) => !rows.has(name))
    .map((name) => `CONTRIBUTING.md: names no test of the fast lane for: ${name}`)
  const unknown = [...rows.keys()]
    .filter((name) => !invariants.includes(name))
    .map((name) => `CONTRIBUTING.md: names no invariant of ARCHITECTURE.md: ${name}`)
  const wrong = [...rows.values()].flatMap(({ name, tests }) =>
    tests.length === 0
      ? [`CONTRIBUTING.md: has no test for: ${name}`]
      : tests
          .filter((test) => test.endsWith('.process.test.ts') || !exists(test))
          .map((test) => `CONTRIBUTING.md: \`${test}\` is no test of the fast lane`),
  )
  return [...missing, ...unknown, ...wrong]
}
