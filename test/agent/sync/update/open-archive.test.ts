import { BUNDLE_FORMAT } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { openArchive } from '../../../../agent/src/sync/update/open-archive.ts'

const ENROLMENT = { org: 'acme', device_id: '0b9f2b52-6f0e-4a3e-9f5a-0d7c3b1f2a11' }
const MIB = 1024 * 1024

/** Opens a body; returns the outcome and the number of turns that other work had meanwhile. */
async function openBeside(...body: Uint8Array[]): Promise<{ message: string; turns: number }> {
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

/** The beginning of a bundle, followed by `size` bytes of a repeated text. */
function beginWith(head: string, text: string, size: number): Uint8Array[] {
  return [Buffer.from(head), Buffer.alloc(size, text)]
}

/** A bundle with `count` files. */
function bundleOf(count: number, content: string): Buffer {
  const files: Record<string, string> = {}
  for (let n = 1; n <= count; n += 1) files[`metadata/${n}.root.json`] = content
  return Buffer.from(JSON.stringify({ format: BUNDLE_FORMAT, assignment: '{}', files }))
}

describe('a bundle file that is made to keep the agent busy', () => {
  it.each<[string, string, string]>([
    ['', '[', 'lacks a `{`'],
    ['', '[]', 'lacks a `{`'],
    ['', '{', 'lacks a `"`'],
    ['', '{"":', 'unknown member'],
    ['{"a":"', 'x', 'unknown member'],
    ['{"', 'x', 'unknown member'],
    ['{"format":"', 'x', '`format` is larger than 4096 bytes'],
    ['{"assignment":"', '\\"', '`assignment` is larger than 4096 bytes'],
    ['{"files":{"', 'x', 'not a path of a view'],
    ['{"files":', '[]', 'lacks a `{`'],
    ['{"files":{"metadata/1.root.json":', '{}', 'lacks a `"`'],
  ])('is refused at its beginning when it is `%s` and many of `%s`', async (head, text, reason) => {
    const { message, turns } = await openBeside(...beginWith(head, text, 32 * MIB))

    expect(message).toContain(reason)
    expect(turns).toBeLessThan(8)
  })

  it.each<[string, string, string]>([
    ['', ' ', 'lacks a `{`'],
    ['{"files":', '\n', 'lacks a `{`'],
    ['{"files":{"metadata/1.root.json":"', 'x', 'larger than 4194304 bytes'],
    ['{"files":{"metadata/1.root.json":"', 'é', 'larger than 4194304 bytes'],
    ['{"files":{"metadata/1.root.json":"', String.raw`\"`, 'larger than 4194304 bytes'],
    ['{"files":{"metadata/1.root.json":"', String.raw`\u0041`, 'larger than 4194304 bytes'],
  ])('lets other work run when it is `%s` and many of `%s`', async (head, text, reason) => {
    const { message, turns } = await openBeside(...beginWith(head, text, 32 * MIB))

    expect(message).toContain(reason)
    expect(turns).toBeGreaterThan(32)
  })

  it('lets other work run while it is read to its end', async () => {
    const { message, turns } = await openBeside(bundleOf(16, '{"a":"é"}'.repeat(MIB / 16)))

    expect(message).toBe('the assignment in the bundle file is invalid')
    expect(turns).toBeGreaterThan(128)
  })

  it('may hold 4,096 files and no more', async () => {
    const [most, more] = [
      await openBeside(bundleOf(4_096, '{}')),
      await openBeside(bundleOf(4_097, '{}')),
    ]

    expect(most.message).toBe('the assignment in the bundle file is invalid')
    expect(more.message).toBe(
      'this agent cannot read the bundle file: it holds more than 4096 files',
    )
  })
})
