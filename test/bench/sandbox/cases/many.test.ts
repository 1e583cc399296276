import { expect, it } from 'vitest'
import { summarizeMany } from '../../../../bench/src/sandbox/cases/many.ts'

it('divides the growth of the agent and of the processes around the commands', () => {
  const before = { agentBytes: 100, aroundBytes: 50, commands: 0 }
  const after = { agentBytes: 200, aroundBytes: 550, commands: 9 }

  expect(summarizeMany(10, before, after)).toEqual({
    sandboxes: 10,
    running: 9,
    bytes_each: 60,
    agent_bytes_each: 10,
  })
})
