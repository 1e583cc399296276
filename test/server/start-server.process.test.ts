import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startServerProcess } from './server-process.ts'
import { temporaryDirectory } from './temporary-directory.ts'

const start = (delay: string) =>
  startServerProcess({
    PALISADE_DATA_DIR: join(temporaryDirectory(), 'data'),
    PALISADE_STOP_DELAY_SECONDS: delay,
  })

const statusOf = async (url: string) => (await fetch(url)).status

describe('after a signal the server', () => {
  it('is not ready at once, serves requests during the delay, and ends with 0', async () => {
    const server = await start('2')
    expect(await statusOf(`${server.url}/readyz`)).toBe(200)

    const outcome = server.stop('SIGTERM')

    await expect.poll(() => statusOf(`${server.url}/readyz`)).toBe(503)
    expect(await statusOf(`${server.url}/healthz`)).toBe(200)
    expect(await statusOf(`${server.url}/v2/orgs/acme/governance/policies`)).toBe(401)
    expect(await outcome).toMatchObject({ status: 0, stderr: '' })
    await expect(statusOf(`${server.url}/healthz`)).rejects.toThrow('fetch failed')
  })

  it('ends at once after a second signal, even with running requests', async () => {
    const server = await start('300')
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('POST /v2/auth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n')
    void server.stop('SIGTERM')
    await expect.poll(() => statusOf(`${server.url}/readyz`)).toBe(503)

    const outcome = await server.stop('SIGINT')

    expect(outcome.status).toBe(1)
    expect(outcome.stderr).toBe(
      'palisade-server: stopped by a second signal; running requests were cut off\n',
    )
  })
})
