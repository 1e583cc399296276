import { globSync } from 'node:fs'

/** Whether paths, as a user gave them, name tests of the full lane alone. */
export function areOfFullLane(root: string, paths: readonly string[]): boolean {
  if (paths.length === 0) return false
  const files = globSync('test/**/*.test.ts', { cwd: root })
  const named = files.filter((file) => paths.some((path) => file.includes(path)))
  return named.length > 0 && named.every((file) => file.endsWith('.process.test.ts'))
}
