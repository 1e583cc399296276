import { describe, expect, it } from 'vitest'
import { startLoopbackServer } from '../../client/loopback-server.ts'
import { STATUS } from '../machine/status.ts'
import { runCli } from '../run-cli.ts'

const INSIDE = { PALISADE_SANDBOX: '1', PALISADE_AGENT_URL: 'http://127.0.0.1:1' }

describe('palisade in a sandbox', () => {
  it('says that sandboxes do not nest', async () => {
    const { code, err } = await runCli(['run', '--', 'true'], { env: INSIDE })
    expect(code).toBe(125)
    expect(err).toContain('sandboxes do not nest')
  })

  it('asks the agent at the address that the sandbox names', async () => {
    await using agent = await startLoopbackServer(() => ({ body: STATUS }))
    const env = { ...INSIDE, PALISADE_AGENT_URL: agent.url, PALISADE_AGENT_SOCKET: '/none' }
    const { code, out } = await runCli(['status', '--json'], { env, isInSandbox: () => true })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toEqual(STATUS)
    expect(agent.seen[0]).toMatchObject({ url: '/v1/status' })
    expect(agent.seen[0]?.headers.host).toBe(agent.url.replace('http://', ''))
  })

  it('says that the agent is gone, without advice to start it there', async () => {
    const { code, err } = await runCli(['status'], { env: INSIDE, isInSandbox: () => true })
    expect(code).toBe(1)
    expect(err).toContain('cannot reach the agent at `127.0.0.1:1`: it is not running\n')
  })

  it.each([['status'], ['check', 'read', '/x'], ['run', '--', 'cat', '/etc/shadow']])(
    'asks no port of the machine, which any user may serve, for %s',
    async (...argv) => {
      await using fake = await startLoopbackServer(() => ({ body: STATUS }))
      const env = { PALISADE_AGENT_URL: fake.url }
      const { code, err } = await runCli(argv, { env })
      expect(code).not.toBe(0)
      expect(err).toContain('PALISADE_AGENT_URL is set, but this is no sandbox; unset it')
      expect(fake.seen).toEqual([])
    },
  )

  it.each([
    'http://evil.test:3130',
    'http://127.0.0.1.evil.test:3130',
    'https://127.0.0.1:3130',
    'http://127.0.0.1:0',
    'http://127.0.0.1:65536',
    'http://u@127.0.0.1:3130',
    'http://127.0.0.1:3130/x',
  ])('asks no other address, such as %s', async (url) => {
    const { code, err } = await runCli(['status'], { env: { PALISADE_AGENT_URL: url } })
    expect(code).toBe(1)
    expect(err).toContain('PALISADE_AGENT_URL')
  })
})
