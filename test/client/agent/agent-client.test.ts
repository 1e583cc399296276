import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAgentClient } from '../../../packages/client/src/agent/agent-client.ts'
import { envelope, startLoopbackServer, type Reply } from '../loopback-server.ts'

const DECISION = {
  decision: 'deny',
  reason: 'default_deny',
  rules: [],
  request: { action: 'read', path: '/data/x' },
  revision: 3,
  stale: false,
  hint: 'allow read /data/x',
}

describe('createAgentClient', () => {
  let directory = ''
  let socketPath = ''

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'palisade-client-'))
    socketPath = join(directory, 'agent.sock')
  })
  afterEach(() => rm(directory, { recursive: true }))

  it('asks for a decision over the socket', async () => {
    await using agent = await startLoopbackServer(() => ({ body: DECISION }), socketPath)

    const decision = await createAgentClient({ socketPath }).decide({ action: 'read', path: '/x' })

    expect(decision).toEqual(DECISION)
    expect(agent.seen).toMatchObject([
      { method: 'POST', url: '/v1/decide', body: '{"action":"read","path":"/x"}' },
    ])
  })

  it('sends null for a value that JSON cannot express', async () => {
    await using agent = await startLoopbackServer(() => ({ body: DECISION }), socketPath)

    await createAgentClient({ socketPath }).decide(undefined)

    expect(agent.seen[0]?.body).toBe('null')
  })

  it('reports that the agent is not running if there is no socket', async () => {
    const attempt = createAgentClient({ socketPath }).status()

    await expect(attempt).rejects.toMatchObject({
      code: 'ERR_AGENT_UNREACHABLE',
      message: expect.stringContaining('not running'),
    })
  })

  it.each<[string, Reply, string]>([
    ['an error envelope', envelope(413, 'invalid_argument'), 'ERR_API'],
    ['no JSON', { body: 'hello' }, 'ERR_UNEXPECTED_ANSWER'],
    ['another shape', { body: { decision: 'allow' } }, 'ERR_UNEXPECTED_ANSWER'],
    ['an unknown decision', { body: { ...DECISION, decision: 'maybe' } }, 'ERR_UNEXPECTED_ANSWER'],
    ['a redirect', { status: 302, headers: { location: '/' } }, 'ERR_UNEXPECTED_ANSWER'],
    ['a cut connection', { hangUp: true }, 'ERR_AGENT_UNREACHABLE'],
    ['silence', { silent: true }, 'ERR_AGENT_TIMEOUT'],
  ])('never takes %s for a decision', async (_name, reply, code) => {
    await using agent = await startLoopbackServer(() => reply, socketPath)

    const attempt = createAgentClient({ socketPath: agent.url, timeoutMs: 200 }).decide({})

    await expect(attempt).rejects.toMatchObject({ code })
  })
})
