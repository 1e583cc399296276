import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { areOfFullLane } from './full-lane-paths.ts'

it.each([
  [[], false],
  [['test/agent'], false],
  [['test/agent/kill'], true],
  [['test/agent/kill.process.test.ts', 'test/agent/pure.test.ts'], false],
  [['test/missing'], false],
])('%j are of the full lane alone: %s', (paths, expected) => {
  const root = mkdtempSync(join(tmpdir(), 'palisade-lanes-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'test/agent'), { recursive: true })
  for (const name of ['kill.process', 'pure'])
    writeFileSync(join(root, `test/agent/${name}.test.ts`), '')

  expect(areOfFullLane(root, paths)).toBe(expected)
})
