import { describe, expect, it } from 'vitest'
import { lockDirectory } from '../../../../agent/src/host/config/lock-directory.ts'
import { AgentError } from '../../../../agent/src/host/errors.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

describe('the lock of a directory', () => {
  it('has one holder at a time, and is free once it is released', async () => {
    const directory = await temporaryDirectory()
    const first = await lockDirectory(directory)
    expect(first.isHeld).toBe(true)

    const second = lockDirectory(directory)
    await expect(second).rejects.toBeInstanceOf(AgentError)
    await expect(second).rejects.toMatchObject({
      code: 'ERR_LOCKED',
      problems: [expect.stringContaining(`already running on \`${directory}\`; stop it`)],
    })

    first.release()
    const third = await lockDirectory(directory)
    expect(third.isHeld).toBe(true)
    third.release()
  })

  it('goes to one of many agents that start at the same time', async () => {
    const directory = await temporaryDirectory()

    const ends = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(directory)))

    const held = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []))
    expect(held).toHaveLength(1)
    held[0]?.release()
  })
})
