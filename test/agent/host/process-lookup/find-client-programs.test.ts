import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createFindClientPrograms } from '../../../../agent/src/host/process-lookup/find-client-programs.ts'
import { LOOPBACK, startServer, endOf } from './program-scene.ts'

describe.skipIf(process.platform !== 'linux')('the program behind a connection', () => {
  it('is unknown once the process has closed its end', async () => {
    const { port, clients } = await startServer()
    const own = connect(port, LOOPBACK)
    await expect.poll(() => clients.length).toBe(1)
    const end = endOf(clients[0])
    const closed = once(own, 'close')
    own.destroy()
    await closed

    expect(await createFindClientPrograms(() => ({ address: LOOPBACK, port }))([end])).toEqual([
      null,
    ])
  })
})
