import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { reachAgent } from '../../../packages/cli/src/agent/reach-agent.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'

describe('reaching the agent', () => {
  it('asks no socket whose directory is missing, which another user may make now', async () => {
    const cwd = await temporaryDirectory()
    const directory = join(cwd, 'run')
    const socketPath = join(directory, 'agent.sock')
    const env = { PALISADE_AGENT_SOCKET: socketPath }
    const io = { env, cwd, isInSandbox: () => false }
    const ask = vi.fn<() => Promise<string>>(async () => 'an answer')

    await expect(reachAgent(io, 3, ask)).rejects.toMatchObject({
      code: 'ERR_AGENT',
      exitCode: 3,
      message: expect.stringContaining('it is not running; '),
    })
    expect(ask).not.toHaveBeenCalled()

    await mkdir(directory, { mode: 0o700 })
    expect(await reachAgent(io, 3, ask)).toBe('an answer')
    expect(ask).toHaveBeenCalledWith({ socketPath })
  })
})
