import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createLaunchDirectory } from '../../../agent/src/sandbox/launch/launch-directory.ts'
import { supervise, type SupervisionDeps } from '../../../agent/src/sandbox/supervise.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

it('the life of a sandbox never rejects, whatever fails at its end', async () => {
  const directory = await createLaunchDirectory(join(await temporaryDirectory(), 'place'))
  const told: string[] = []
  const note = (_: unknown, message: string): void => void told.push(message)
  const fail = (): never => {
    throw new Error('it failed')
  }
  const supervision = supervise({
    launch: {
      id: 'box',
      directory,
      holder: { end: () => {}, ended: Promise.resolve() },
      discard: () => Promise.resolve(),
    } as unknown as SupervisionDeps['launch'],
    plan: { release: () => Promise.resolve() } as SupervisionDeps['plan'],
    network: { close: fail },
    disk: {} as SupervisionDeps['disk'],
    createGuard: fail,
    applyMissedChanges: () => Promise.resolve(),
    describeEnd: () => [],
    log: { info: note, warn: note } as unknown as SupervisionDeps['log'],
  })

  supervision.end('it is over')
  await expect(supervision.ended).resolves.toBeUndefined()
  expect(told).toEqual(['a sandbox was ended', 'a sandbox did not end as a whole'])
})
