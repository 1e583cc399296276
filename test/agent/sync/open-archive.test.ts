import { describe, expect, it } from 'vitest'
import { openArchive } from '../../../agent/src/sync/open-archive.ts'

const ENROLMENT = { org: 'acme', device_id: '0b9f2b52-6f0e-4a3e-9f5a-0d7c3b1f2a11' }
const MIB = 1024 * 1024

/** What comes of a body, and how often others had their turn meanwhile. */
async function openBeside(body: Uint8Array): Promise<{ message: string; turns: number }> {
  let turns = 0
  let isOver = false
  const takeTurn = (): void => {
    turns += 1
    if (!isOver) setImmediate(takeTurn)
  }
  setImmediate(takeTurn)
  const archive = await openArchive(body, ENROLMENT)
  isOver = true
  return { message: archive.kind === 'fault' ? archive.message : '', turns }
}

describe('a bundle file that is made to keep the agent busy', () => {
  it.each(['[', '{', '[,', '{"":', '"a",'])(
    'is refused at its beginning when it is many of `%s`',
    async (text) => {
      const { message, turns } = await openBeside(Buffer.alloc(32 * MIB, text))

      expect(message).toContain('more than 4096 values')
      expect(turns).toBeLessThan(8)
    },
  )

  it.each(['[]', ' ', ']'])('lets others have their turn when it is many of `%s`', async (text) => {
    const { message, turns } = await openBeside(Buffer.alloc(8 * MIB, text))

    expect(message).toContain('damaged')
    expect(turns).toBeGreaterThan(32)
  })
})
