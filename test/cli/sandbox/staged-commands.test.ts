import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startLoopbackServer } from '../../client/loopback-server.ts'
import { runCli } from '../run-cli.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const SESSION = {
  state: 'kept',
  started_at: '2026-11-21T11:57:00Z',
  expires_at: '2026-12-05T11:57:00Z',
  workspaces: ['/project'],
  directories: ['/staged/upper'],
}
const SESSIONS = [
  { ...SESSION, id: 's1' },
  { ...SESSION, id: 's2', state: 'running' },
  { ...SESSION, id: 's3' },
]
const COUNTS = { allowed: 0, applied: 0, refused: 0, conflict: 0, failed: 0 }
const DISCARDED = { outcome: 'discarded', changes: [], counts: COUNTS, is_kept: false, error: null }

/** Runs the command beside an agent that keeps the changes of two sandboxes that have ended. */
async function run(...argv: readonly string[]) {
  await using directory = await temporaryDirectory()
  await using agent = await startLoopbackServer(
    ({ method }) =>
      method === 'GET'
        ? { body: { sessions: SESSIONS } }
        : { body: { ...DISCARDED, session: SESSIONS[0] } },
    join(directory.path, 'agent.sock'),
  )
  const result = await runCli(argv, { env: { PALISADE_AGENT_SOCKET: agent.url } })
  const discarded = agent.seen
    .filter(({ url }) => url === '/v1/staged/discard')
    .map(({ body }) => body)
  return { ...result, discarded }
}

describe('palisade staged discard', () => {
  it('takes several sandboxes', async () => {
    const result = await run('staged', 'discard', 's1', 's3')

    expect(result.discarded).toEqual(['{"id":"s1"}', '{"id":"s3"}'])
    expect(result).toMatchObject({
      code: 0,
      out: 'the changes were discarded\nthe changes were discarded\n',
    })
  })

  it('takes all that have ended', async () => {
    const result = await run('staged', 'discard', '--all', '--json')

    expect(result.discarded).toEqual(['{"id":"s1"}', '{"id":"s3"}'])
    expect(result.out.trim().split('\n')).toHaveLength(2)
  })

  it.each([[['staged', 'discard']], [['staged', 'discard', '--all', 's1']]])(
    'refuses %j',
    async (argv) => {
      expect(await run(...argv)).toMatchObject({ code: 2, discarded: [] })
    },
  )
})
