import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startLoopbackServer, type SeenRequest } from '../../client/loopback-server.ts'
import { runCli, type CliRun } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const DENY = {
  id: 'deny_1',
  name: 'quiet',
  actions: ['connect:tcp', 'connect:udp'],
  resource: 'ads.example.com',
  created_at: '2026-11-21T12:00:00.000Z',
}
const added = { outcome: 'added', denies: [DENY], error: null }

interface Asked extends CliRun {
  readonly seen: readonly SeenRequest[]
}

async function ask(argv: readonly string[], body: object = added): Promise<Asked> {
  await using directory = await temporaryDirectory()
  const socket = join(directory.path, 'agent.sock')
  await using agent = await startLoopbackServer(() => ({ body }), socket)
  const run = await runCli(argv, { env: { PALISADE_AGENT_SOCKET: agent.url } })
  return { ...run, seen: agent.seen }
}

function bodyOf({ seen: [request] }: Asked): unknown {
  return JSON.parse(request?.body ?? 'null')
}

describe('palisade deny', () => {
  it('denies both actions of a host or of a path', async () => {
    const host = await ask(['deny', 'ads.example.com', '--name', 'quiet'])
    const path = await ask(['deny', '~/.ssh/**'])

    expect(host).toMatchObject({ code: 0, seen: [{ method: 'POST', url: '/v1/local-rules' }] })
    expect(host.out).toBe('denied  connect:tcp, connect:udp ads.example.com (quiet)\n')
    expect(bodyOf(host)).toEqual({
      resource: 'ads.example.com',
      actions: ['connect:tcp', 'connect:udp'],
      name: 'quiet',
    })
    expect(bodyOf(path)).toEqual({ resource: '~/.ssh/**', actions: ['read', 'write'] })
  })

  it('denies the named actions only, and refuses an unknown one', async () => {
    const one = await ask(['deny', '/data', '--action', 'write'])
    const unknown = await ask(['deny', '/data', '--action', 'execute'])

    expect(bodyOf(one)).toEqual({ resource: '/data', actions: ['write'] })
    expect(unknown).toMatchObject({ code: 2, seen: [] })
    expect(unknown.err).toContain('unknown action `execute`; write one of `connect:tcp`')
  })

  it('fails with the reason when the agent refuses', async () => {
    const error = { code: 'invalid_request', message: 'a URL\u001b is no name' }
    const refused = { outcome: 'failed', denies: [], error }

    expect(await ask(['deny', 'https://x/'], refused)).toMatchObject({
      code: 1,
      out: '',
      err: 'error: the agent refused: a URL\\u001b is no name\n',
    })
    const json = await ask(['deny', 'https://x/', '--json'], refused)
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out)).toEqual(refused)
  })

  it('says when the rule exists already', async () => {
    const { code, out } = await ask(['deny', 'x'], { ...added, outcome: 'unchanged' })

    expect(code).toBe(0)
    expect(out).toMatch(/^denied already {2}/)
  })
})

describe('palisade undeny', () => {
  it('removes the rules of a target', async () => {
    const run = await ask(['undeny', 'ads.example.com'], { ...added, outcome: 'removed' })

    expect(run).toMatchObject({ code: 0, seen: [{ url: '/v1/local-rules/remove' }] })
    expect(bodyOf(run)).toEqual({ resource: 'ads.example.com' })
    expect(run.out).toMatch(/^no longer denied by a local rule {2}connect:tcp/)
  })

  it('fails when there is no such rule', async () => {
    const none = { outcome: 'unchanged', denies: [], error: null }

    const text = await ask(['undeny', 'x', '--action', 'read'], none)
    expect(text).toMatchObject({ code: 1, out: '' })
    expect(text.err).toContain('`palisade deny` has added no such rule for `x`')
    expect(bodyOf(text)).toEqual({ resource: 'x', actions: ['read'] })
    expect(await ask(['undeny', 'x', '--json'], none)).toMatchObject({ code: 1, err: '' })
  })
})
