import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAgentClient } from '../../../packages/client/src/agent/agent-client.ts'
import { envelope, startLoopbackServer, type Reply } from '../loopback-server.ts'
import { removeDirectory } from '../../remove-directory.ts'

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
  afterEach(() => removeDirectory(directory))

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

  it('decides many requests in batches of a thousand, in order', async () => {
    await using agent = await startLoopbackServer(
      ({ body }) => ({ body: answers(body.split('\n').slice(0, -1)) }),
      socketPath,
    )
    const requests = Array.from({ length: 2_001 }, (_, at) => ({ action: 'read', path: `/${at}` }))

    const decisions = await createAgentClient({ socketPath }).decideMany([...requests, undefined])

    expect(decisions.map(({ hint }) => hint)).toEqual([
      ...requests.map((request) => JSON.stringify(request)),
      'null',
    ])
    expect(agent.seen.map(({ body }) => body.split('\n').length - 1)).toEqual([1000, 1000, 2])
    expect(agent.seen[0]?.headers['content-type']).toBe('application/x-ndjson')
  })

  it('splits batches before the agent refuses their size, and shortens no answer', async () => {
    await using agent = await startLoopbackServer(
      ({ body }) => ({
        body: answers(
          body
            .split('\n')
            .slice(0, -1)
            .map(() => 'x'),
        ),
      }),
      socketPath,
    )
    const large = { action: 'read', path: `/${'x'.repeat(3 * 1024 * 1024)}` }
    const tooLarge = { action: 'read', path: `/${'x'.repeat(4 * 1024 * 1024)}` }

    const client = createAgentClient({ socketPath })
    const decisions = await client.decideMany([large, large, tooLarge])

    expect(decisions).toHaveLength(3)
    expect(agent.seen.map(({ body }) => body.length)).toEqual([
      JSON.stringify(large).length + 1,
      JSON.stringify(large).length + 1 + 'null\n'.length,
    ])
  })

  it('asks for no decision without requests', async () => {
    await expect(createAgentClient({ socketPath }).decideMany([])).resolves.toEqual([])
  })

  it.each<[string, string]>([
    ['fewer lines', answers(['a'])],
    ['more lines', answers(['a', 'b', 'c'])],
    ['a broken line', `${answers(['a'])}{}\n`],
    ['an unfinished line', answers(['a', 'b']).trimEnd()],
  ])('takes no decision from an answer with %s', async (_name, body) => {
    await using agent = await startLoopbackServer(() => ({ body }), socketPath)

    const attempt = createAgentClient({ socketPath: agent.url }).decideMany([{}, {}])

    await expect(attempt).rejects.toMatchObject({ code: 'ERR_UNEXPECTED_ANSWER' })
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

/** One decision a line, told apart by their hints. */
function answers(hints: readonly string[]): string {
  return hints.map((hint) => `${JSON.stringify({ ...DECISION, hint })}\n`).join('')
}
