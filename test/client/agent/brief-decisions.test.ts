import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { askBriefly } from '../../../packages/client/src/agent/brief-decisions.ts'
import { envelope, startLoopbackServer, type Reply } from '../loopback-server.ts'
import { removeDirectory } from '../../remove-directory.ts'

const ALLOWED = { decision: 'allow', reason: 'rule', rules: [{ rule_name: 'api' }], hint: null }
const DENIED = { decision: 'deny', reason: 'default_deny', rules: [], hint: 'allow read /x' }

describe('askBriefly', () => {
  let directory = ''
  let socketPath = ''

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'palisade-client-'))
    socketPath = join(directory, 'agent.sock')
  })
  afterEach(() => removeDirectory(directory))

  it('asks for one decision with JSON, and for several with a batch', async () => {
    await using agent = await startLoopbackServer(
      ({ headers }) => ({
        body: headers['content-type']?.includes('ndjson')
          ? `${JSON.stringify(ALLOWED)}\n${JSON.stringify(DENIED)}\n`
          : `${JSON.stringify(DENIED)}\n`,
      }),
      socketPath,
    )

    const one = await askBriefly({ socketPath }, [{ action: 'read', path: '/x' }])
    const two = await askBriefly({ socketPath }, [{ path: '/a' }, { path: '/b' }])

    const denied = { decision: 'deny', reason: 'default_deny', hint: 'allow read /x' }
    expect(one).toEqual([{ ...denied, rule: null, support: null }])
    const allowed = { decision: 'allow', reason: 'rule', rule: 'api', hint: null, support: null }
    expect(two).toEqual([allowed, ...one])
    expect(agent.seen.map(({ body }) => body)).toEqual([
      '{"action":"read","path":"/x"}\n',
      '{"path":"/a"}\n{"path":"/b"}\n',
    ])
  })

  it.each<[string, Reply, string]>([
    ['an error envelope', envelope(413, 'invalid_argument'), 'ERR_UNEXPECTED_ANSWER'],
    ['no JSON', { body: 'hello\n' }, 'ERR_UNEXPECTED_ANSWER'],
    ['an array', { body: '["allow"]\n' }, 'ERR_UNEXPECTED_ANSWER'],
    ['another decision', { body: '{"decision":"maybe","reason":"x"}\n' }, 'ERR_UNEXPECTED_ANSWER'],
    ['no reason', { body: '{"decision":"allow"}\n' }, 'ERR_UNEXPECTED_ANSWER'],
    [
      'a decision twice',
      { body: '{"decision":"deny","reason":"rule","decision":"allow"}\n' },
      'ERR_UNEXPECTED_ANSWER',
    ],
    ['too many lines', { body: `${JSON.stringify(ALLOWED)}\n`.repeat(2) }, 'ERR_UNEXPECTED_ANSWER'],
    ['no line feed', { body: JSON.stringify(ALLOWED) }, 'ERR_UNEXPECTED_ANSWER'],
    ['a redirect', { status: 302, body: `${JSON.stringify(ALLOWED)}\n` }, 'ERR_UNEXPECTED_ANSWER'],
    ['a cut connection', { hangUp: true }, 'ERR_AGENT_UNREACHABLE'],
    ['silence', { silent: true }, 'ERR_AGENT_TIMEOUT'],
  ])('never takes %s for a decision', async (_name, reply, code) => {
    await using agent = await startLoopbackServer(() => reply, socketPath)

    const attempt = askBriefly({ socketPath: agent.url, timeoutMs: 200 }, [{}])

    await expect(attempt).rejects.toMatchObject({ code })
  })

  it('refuses more requests than a batch holds', async () => {
    const requests = Array.from({ length: 1_001 }, () => ({}))

    await expect(askBriefly({ socketPath }, requests)).rejects.toMatchObject({
      code: 'ERR_ARGUMENT_INVALID',
    })
  })
})
