import type { RecordedProgram } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { createProgramLookup } from '../../../../agent/src/host/process-lookup/program-lookup.ts'
import type { TcpEndpoint } from '../../../../agent/src/host/process-lookup/tcp-table.ts'

const end = (port: number): TcpEndpoint => ({ address: '127.0.0.1', port })
const program = (pid: number): RecordedProgram => ({ pid, executable: '/x', user: { uid: 1 } })

/** A lookup whose scans and pauses a test ends. */
function scene() {
  const scans: { ports: number[]; finish: (found: (RecordedProgram | null)[]) => void }[] = []
  const pauses: { ms: number; finish: () => void }[] = []
  let nowMs = 0
  const lookup = createProgramLookup(
    (ends) =>
      new Promise((resolve) =>
        scans.push({ ports: ends.map(({ port }) => port), finish: resolve }),
      ),
    () => nowMs,
    (ms) => new Promise<void>((resolve) => pauses.push({ ms, finish: resolve })),
  )
  const found: (number | null)[] = []
  const find = (port: number): void =>
    lookup.find(end(port), (result) => found.push(result?.pid ?? null))
  return { lookup, find, found, scans, pauses, pass: (ms: number) => (nowMs += ms) }
}

describe('the lookup of programs', () => {
  it('serves all connections that wait with one scan, and pauses before the next', async () => {
    const { find, found, scans, pauses, pass } = scene()

    find(1)
    find(2)
    find(1)
    await expect.poll(() => scans.length).toBe(1)
    find(3)
    pass(10)
    scans[0]?.finish([program(11), null])
    await expect.poll(() => pauses.length).toBe(1)

    expect(scans.map(({ ports }) => ports)).toEqual([[1, 2]])
    expect(found).toEqual([11, 11, null])
    expect(pauses[0]?.ms).toBe(490)
    pauses[0]?.finish()
    await expect.poll(() => scans.length).toBe(2)
    expect(scans[1]?.ports).toEqual([3])
  })

  it('tells sandboxes and targets apart', async () => {
    const { lookup, scans } = scene()
    const within = (pid: number, port: number) => ({
      ...end(1),
      within: { pid, connection: { server: end(port), accepted: end(3128) } },
    })
    const found: unknown[] = []
    const use = (result: RecordedProgram | null): void => void found.push(result?.pid)
    for (const each of [end(1), within(7, 80), within(8, 80), within(7, 81), within(7, 80)])
      lookup.find(each, use)
    await expect.poll(() => scans.length).toBe(1)

    scans[0]?.finish([program(11), program(12), program(13), program(14)])

    await expect.poll(() => found).toEqual([11, 12, 12, 13, 14])
  })

  it('searches the program of datagrams again, whose port may have another one', async () => {
    const { lookup, scans, pauses } = scene()
    const sender = { ...end(1), within: { pid: 7 } }
    const found: unknown[] = []
    const use = (result: RecordedProgram | null): void => void found.push(result?.pid)
    lookup.find(sender, use)
    await expect.poll(() => scans.length).toBe(1)
    scans[0]?.finish([program(11)])
    await expect.poll(() => pauses.length).toBe(1)
    pauses[0]?.finish()

    lookup.find(sender, use)
    await expect.poll(() => scans.length).toBe(2)
    scans[1]?.finish([program(12)])

    await expect.poll(() => found).toEqual([11, 12])
  })

  it('searches the program of a connection once, and keeps it', async () => {
    const { lookup, find, found, scans } = scene()
    lookup.notice(end(1))
    lookup.notice(end(2))
    await expect.poll(() => scans.length).toBe(1)
    find(1)
    expect(found).toEqual([])
    scans[0]?.finish([program(11), null])
    await expect.poll(() => found).toEqual([11])

    find(1)
    find(2)

    expect(found).toEqual([11, 11, null])
    expect(scans).toHaveLength(1)
  })

  it('searches again for a new connection from the same port', async () => {
    const { lookup, find, found, scans, pauses } = scene()
    find(1)
    await expect.poll(() => scans.length).toBe(1)
    scans[0]?.finish([program(11)])
    await expect.poll(() => pauses.length).toBe(1)

    lookup.notice(end(1))
    find(1)
    pauses[0]?.finish()
    await expect.poll(() => scans.length).toBe(2)
    scans[1]?.finish([program(12)])
    await expect.poll(() => found).toEqual([11, 12])
  })

  it('answers all that wait for a connection whose port begins another one', async () => {
    const { lookup, find, found, scans, pauses } = scene()
    find(1)
    await expect.poll(() => scans.length).toBe(1)
    find(2)

    lookup.notice(end(1))
    lookup.notice(end(2))
    expect(found).toEqual([null, null])
    find(1)
    scans[0]?.finish([program(11)])
    await expect.poll(() => pauses.length).toBe(1)
    expect(found).toHaveLength(2)
    pauses[0]?.finish()
    await expect.poll(() => scans.length).toBe(2)
    scans[1]?.finish([program(12), program(13)])

    await expect.poll(() => found).toEqual([null, null, 12])
  })

  it('lets a thousand connections wait, and leaves the program of others unknown', async () => {
    const { find, found } = scene()

    for (let port = 0; port < 1_010; port += 1) find(port)

    expect(found).toEqual(Array(10).fill(null))
  })

  it('settles at a stop, and when a scan fails', async () => {
    const { lookup, find, found, scans } = scene()
    find(1)
    await expect.poll(() => scans.length).toBe(1)
    find(2)
    const settled = lookup.settled()

    lookup.settle()
    await settled

    expect(found).toEqual([null, null])
    scans[0]?.finish([program(11)])
    await lookup.settled()
    expect(found).toHaveLength(2)

    const failing = createProgramLookup(
      () => Promise.reject(new Error('no proc')),
      () => 0,
    )
    const result = await new Promise((resolve) => failing.find(end(1), resolve))
    expect(result).toBeNull()
  })
})
