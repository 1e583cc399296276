import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterAll, afterEach, beforeEach, expect, vi } from 'vitest'
import { noteRunningTest } from './running-tests.ts'

const run = process.env['PALISADE_TEST_RUN']
const worker = process.env['VITEST_POOL_ID'] ?? ''
const note = (name: string): void => {
  if (run !== undefined) noteRunningTest(run, worker, name)
}

// Starts that wait for their end, such as `spawnSync`, are not published here; imports show them.
const started: string[] = []
const onProcess = (): void => void started.push('a process')
const onThread = (): void => void started.push('a thread')
subscribe('child_process', onProcess)
subscribe('worker_threads', onThread)

// Files share a worker, and none may go on with the fake time of another.
vi.useRealTimers()
note(expect.getState().testPath ?? '')
beforeEach(({ task }) => note(`${task.file.name} > ${task.name}`))
afterEach(() => {
  note('')
  const found = started.splice(0)
  expect(found, 'a test that starts something is named *.process.test.ts').toEqual([])
})
afterAll(() => {
  // Also of a file whose tests are all skipped.
  note('')
  unsubscribe('child_process', onProcess)
  unsubscribe('worker_threads', onThread)
})
