import { existsSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { createBallast } from '../../../server/src/store/sqlite/ballast.ts'
import { openOwner } from '../owner.ts'
import { openTestServer } from '../test-server.ts'
import { enrolTestDevice } from '../test-device.ts'
import { fill, isRoot, mountDisk } from './small-disk.ts'

const runs = isRoot && inject('driver') === 'sqlite'

it.runIf(runs)('a store opens on a full disk with the room of its ballast', async () => {
  const disk = mountDisk('200m')
  const file = join(disk, 'server.db')
  await openDataDirectory(disk).close()
  createBallast(file).make()
  expect(statSync(`${file}-ballast`).size).toBe(16 * 1024 * 1024)
  fill(join(disk, 'filling'))

  const store = openDataDirectory(disk)
  await store.close()

  expect(existsSync(`${file}-ballast`)).toBe(false)
})

it.runIf(runs)('no ballast is made where the disk has little room', async () => {
  const disk = mountDisk('170m')
  const file = join(disk, 'server.db')

  createBallast(file).make()

  expect(existsSync(`${file}-ballast`)).toBe(false)
})

it.runIf(runs)('a disk that becomes full still revokes with the room of its ballast', async () => {
  const dataDir = mountDisk('200m')
  const test = await openTestServer(undefined, { dataDir })
  createBallast(join(dataDir, 'server.db')).make()
  const owner = await openOwner(test, 'acme', 'alice')
  const bob = await owner.addMember('bob', 'member')
  const device = await enrolTestDevice(test, bob, 'acme', { user: 'bob' })
  const send = async (method: 'DELETE' | 'POST', path: string, payload?: object) => {
    const options = { as: owner.as, ...(payload === undefined ? {} : { payload }) }
    return (await test.send(method, path, options)).statusCode
  }
  const policies = '/v2/orgs/acme/governance/policies'
  expect(await send('POST', policies, { name: 'before' })).toBe(201)
  fill(join(dataDir, 'filling'))

  expect(await send('POST', '/api/v1/orgs/acme/teams', { name: 'ordinary' })).toBe(503)
  expect(await send('DELETE', `/api/v1/orgs/acme/devices/${device.enrolment.device_id}`)).toBe(204)
  expect(await send('DELETE', '/api/v1/orgs/acme/members/bob')).toBe(204)
  expect(await send('POST', policies, { name: 'a response' })).toBe(503)

  rmSync(join(dataDir, 'filling'))
  expect(await send('POST', '/api/v1/orgs/acme/teams', { name: 'ordinary' })).toBe(201)
})

it.runIf(runs)('a kept answer without a change does not take the last room', async () => {
  const dataDir = mountDisk('200m')
  const test = await openTestServer(undefined, { dataDir })
  createBallast(join(dataDir, 'server.db')).make()
  const owner = await openOwner(test, 'acme', 'alice')
  const apply = async (key?: string) => {
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const options = { as: owner.as, headers, payload: { policies: [] } }
    return (await test.send('POST', '/api/v1/orgs/acme/apply', options)).statusCode
  }
  expect(await apply('before')).toBe(200)
  fill(join(dataDir, 'filling'))

  expect(await apply('after')).toBe(503)
  expect(await apply('before')).toBe(200)
  expect(await apply()).toBe(200)
})
