import { appendFileSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { createDiskRoom } from '../../../../server/src/identity/limits/disk-room.ts'
import type { Author } from '../../../../server/src/history/author.ts'
import type { Change } from '../../../../server/src/store/change.ts'
import { isRoot, mountDisk } from '../../full-disk/small-disk.ts'

const MIB = 1024 * 1024
const AUTHOR = { actor: 'user:ed', address: null, request_id: null } satisfies Author

const change = (kind: Change['kind'], after: object | null = null): Change => ({
  scope: { org: 'acme' },
  kind,
  subject: { id: 'one', name: null },
  before: null,
  after,
})
const ORDINARY = change('team.created')
const RESPONSE = change('rule.created', { decision: 'deny', actions: [], resources: [] })
const CONTENT = change('rule.deleted')
const ROLLBACK = change('rollout.rolled_back')
const REVOCATIONS = (
  [
    'member.removed',
    'access_token.revoked',
    'enrolment_token.revoked',
    'device.revoked',
    'access.revoked',
    'user.sessions_ended',
  ] as const
).map((kind) => change(kind))

/** Leaves so many MiB of free room on the disk, fewer each time. */
function leave(disk: string, freeMib: number): void {
  const { bsize, bavail } = statfsSync(disk)
  for (let left = bavail * bsize - freeMib * MIB; left > 0; left -= MIB)
    appendFileSync(join(disk, 'filling'), Buffer.alloc(Math.min(left, MIB)))
}

const runs = isRoot && inject('driver') === 'sqlite'

it.runIf(runs)('keeps the last room of a disk for ever smaller changes', async () => {
  const dataDir = mountDisk('700m')
  const requireRoom = createDiskRoom({ dataDir, databaseUrl: null })
  const passes = async (...changes: Change[]): Promise<boolean> => {
    const made = requireRoom(undefined as never, 'acme', { author: AUTHOR, changes })
    return made.then(
      () => true,
      () => false,
    )
  }
  const outcomes: unknown[] = []
  for (const freeMib of [70, 60, 30, 18, 0]) {
    leave(dataDir, freeMib)
    const kinds = [ORDINARY, RESPONSE, CONTENT, ROLLBACK]
    outcomes.push([freeMib, ...(await Promise.all(kinds.map((each) => passes(each))))])
    expect(await Promise.all(REVOCATIONS.map((each) => passes(each)))).not.toContain(false)
    expect(await passes(...REVOCATIONS, CONTENT)).toBe(freeMib >= 20)
  }

  expect(outcomes).toEqual([
    [70, true, true, true, true],
    [60, false, true, true, true],
    [30, false, false, true, true],
    [18, false, false, false, false],
    [0, false, false, false, false],
  ])
})

it.runIf(runs)('ends responses of a small disk before the room of its ballast', async () => {
  const dataDir = mountDisk('200m')
  leave(dataDir, 17)
  const requireRoom = createDiskRoom({ dataDir, databaseUrl: null })

  await expect(
    requireRoom(undefined as never, 'acme', { author: AUTHOR, changes: [RESPONSE] }),
  ).rejects.toMatchObject({ status: 503 })
})
