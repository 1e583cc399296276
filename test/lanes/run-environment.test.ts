import { expect, it, vi, onTestFinished } from 'vitest'
import { leaveOut, leftOutFiles } from './run-environment.ts'

it.each([[[]], [['test/a.process.test.ts', 'test/b c.process.test.ts']]])(
  'the configuration reads the files that are left out: %j',
  (files) => {
    onTestFinished(() => void vi.unstubAllEnvs())
    for (const [name, value] of Object.entries(leaveOut(files))) vi.stubEnv(name, value)

    expect(leftOutFiles()).toEqual(files)
  },
)
