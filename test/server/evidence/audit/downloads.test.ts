import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createDownloads } from '../../../../server/src/evidence/audit/downloads.ts'

const LIMITS = {
  most: 3,
  mostOfOrganization: 1,
  mostOwnOfOrganization: 2,
  mostOfCaller: 1,
  leastBytes: 2 ** 20,
  windowMs: 100,
  withinMs: 60_000,
}
const MANY = Buffer.alloc(2 ** 26)

/** The response to a request whose client reads only on demand. */
async function openResponse() {
  const server = createServer()
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  onTestFinished(() => void client.destroy())
  client.on('error', () => {})
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  return { client, response }
}

describe('the downloads that go on', () => {
  const own = { org: 'acme', caller: 'user:bob', own: true }
  const refusal = 'too many downloads at once'

  it('have bounds for a caller, an organization and all', async () => {
    const { response } = await openResponse()
    const downloads = createDownloads(LIMITS)
    const enter = (org: string, caller: string) => () =>
      downloads.enter({ ...own, org, caller }, response)

    enter('acme', 'user:bob')()
    expect(enter('acme', 'user:bob')).toThrow(refusal)
    enter('acme', 'user:eve')()
    expect(enter('acme', 'user:olga')).toThrow(refusal)
    enter('globex', 'user:ann')()
    expect(enter('initech', 'user:ida')).toThrow(refusal)
  })

  it('leave slots to those who may read all records, and free them at the end', async () => {
    const { client, response } = await openResponse()
    const downloads = createDownloads(LIMITS)
    for (const caller of ['user:bob', 'user:eve']) downloads.enter({ ...own, caller }, response)
    expect(() => downloads.enter({ ...own, caller: 'user:olga' }, response)).toThrow(refusal)

    const auditor = await openResponse()
    downloads.enter({ ...own, caller: 'user:olga', own: false }, auditor.response)

    client.destroy()
    await once(response, 'close')
    downloads.enter(own, auditor.response)
  })

  it('leave most slots of own records to other members', async () => {
    const { response } = await openResponse()
    const downloads = createDownloads()
    for (const caller of ['user:bob', 'user:bob', 'user:eve', 'user:eve'])
      downloads.enter({ ...own, caller }, response)

    downloads.enter({ ...own, caller: 'user:olga' }, response)
  })

  it('leave slots to other organizations', async () => {
    const { response } = await openResponse()
    const downloads = createDownloads()
    const fill = (isOwn: boolean): number => {
      for (let taken = 0; ; taken += 1)
        try {
          downloads.enter({ org: 'acme', caller: `user:${taken}`, own: isOwn }, response)
        } catch {
          return taken
        }
    }

    expect([fill(true), fill(false)]).toEqual([8, 4])
    downloads.enter({ ...own, org: 'globex' }, response)
    downloads.enter({ ...own, org: 'globex', own: false }, response)
  })

  it('are cut when their client takes nothing', async () => {
    const { response } = await openResponse()
    createDownloads(LIMITS).enter(own, response)
    response.write(MANY)

    await once(response, 'close')

    expect(response.writableFinished).toBe(false)
  })

  it('go on while their client reads, or while they have nothing to send', async () => {
    const { client, response } = await openResponse()
    createDownloads({ ...LIMITS, leastBytes: 1 }).enter(own, response)
    response.write('start')
    // Longer than three windows, without a byte.
    await new Promise((resolve) => setTimeout(resolve, 3.5 * LIMITS.windowMs))

    client.resume()
    response.end(MANY)
    await once(response, 'close')

    expect(response.writableFinished).toBe(true)
  })
})
