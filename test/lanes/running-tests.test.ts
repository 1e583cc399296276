import { mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { hangingTests, noteRunningTest } from './running-tests.ts'

it('names the tests that have run for too long, and no idle worker', () => {
  const directory = mkdtempSync(join(tmpdir(), 'palisade-running-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  expect(hangingTests(directory, 1_000)).toEqual([])
  noteRunningTest(directory, '1', 'a.test.ts > hangs')
  noteRunningTest(directory, '2', 'b.test.ts > has just begun')
  noteRunningTest(directory, '3', '')
  for (const worker of ['1', '3']) utimesSync(join(directory, 'running', worker), 1, 1)

  expect(hangingTests(directory, 60_000)).toEqual(['a.test.ts > hangs'])
})
