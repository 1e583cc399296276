import { keyFileOf, type Fetch } from '@palisade/client'
import {
  deviceKeySchema,
  keptEnrolmentSchema,
  type CreatedEnrolmentToken,
} from '@palisade/protocol'
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readDeviceKey, readEnrolment } from '../../../../agent/src/sync/enrol/read-enrolment.ts'
import { ensureEnrolled } from '../../../../agent/src/sync/enrol/ensure-enrolled.ts'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import { freshName } from '../../../server/fresh-name.ts'
import { openTestServer, type TestServer } from '../../../server/test-server.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'
import { never } from '../../fixture/sync-scene.ts'
import { atEndOfTests } from '../../../server/temporary-directory.ts'

const fetch = createHttpFetch()
const log = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} }

describe('a machine without an enrolment', () => {
  let server: TestServer
  let org: string
  let owner: string
  let agentDir: string
  let enrolmentPath: string
  let enrolmentTokenPath: string
  let pauses: number[]

  const atEnd = atEndOfTests()
  beforeAll(async () => {
    server = await openTestServer(atEnd)
    await server.server.app.listen({ host: '127.0.0.1', port: 0 })
  })

  beforeEach(async () => {
    org = freshName('acme')
    const username = freshName('alice')
    const { personal_token } = await server.createOrganization(org, username)
    owner = await server.signIn(username, personal_token)
    const directory = await temporaryDirectory()
    agentDir = join(directory, 'data', 'agent')
    enrolmentPath = join(agentDir, 'enrolment.json')
    enrolmentTokenPath = join(directory, 'token')
    await writeToken((await createToken()).token)
    pauses = []
  })

  async function createToken(): Promise<CreatedEnrolmentToken> {
    const payload = { name: 'one', max_uses: 1, expires_in_days: 1 }
    const url = `/api/v1/orgs/${org}/enrolment-tokens`
    return (await server.send('POST', url, { as: owner, payload })).json()
  }

  const writeToken = (text: string) => writeFile(enrolmentTokenPath, `${text}\n`, { mode: 0o600 })

  function ensure(change: { fetch?: Fetch; stop?: AbortSignal; path?: string | null } = {}) {
    const path = change.path === undefined ? enrolmentTokenPath : change.path
    const places = { agentDir, enrolmentPath, enrolmentTokenPath: path }
    const surroundings = {
      fetch: change.fetch ?? fetch,
      log,
      hostName: 'build-7.example',
      clock: server.now,
      random: () => 0.5,
      pause: async (ms: number) => void pauses.push(ms),
    }
    return ensureEnrolled(places, surroundings, change.stop ?? never)
  }

  async function devices(): Promise<string[]> {
    const answer = await server.send('GET', `/api/v1/orgs/${org}/devices`, { as: owner })
    return answer.json<{ data: { id: string }[] }>().data.map(({ id }) => id)
  }

  it('enrols with its token and writes private files that the agent can read', async () => {
    expect(await ensure()).toBe(true)

    const enrolment = await readEnrolment(enrolmentPath)
    const from = { org, user: null, server: server.server.origin() }
    expect(enrolment).toMatchObject({ ...from, name: 'build-7.example' })
    expect(await devices()).toEqual([enrolment.device_id])
    expect(await readDeviceKey(enrolmentPath)).toMatchObject({ kty: 'OKP', crv: 'Ed25519' })
    for (const path of [enrolmentPath, keyFileOf(enrolmentPath)])
      expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(agentDir)).mode & 0o777).toBe(0o700)
  })

  it('is not enrolled without a name when the server refuses its name', async () => {
    const bodies: unknown[] = []
    const strict: Fetch = async (_url, init) => {
      bodies.push(JSON.parse(String(init?.body)))
      const error = { code: 'invalid_argument', message: 'unknown member `name`', field: 'name' }
      return Response.json({ error: { ...error, request_id: 'r' } }, { status: 400 })
    }

    await expect(ensure({ fetch: strict })).rejects.toMatchObject({ code: 'ERR_ENROLMENT_REFUSED' })

    expect(bodies).toMatchObject([{ name: 'build-7.example' }])
    expect(await devices()).toEqual([])
  })

  it('enrols once, and not at all without a token', async () => {
    expect(await ensure({ path: null })).toBe(true)
    expect(await devices()).toEqual([])
    await ensure()
    const before = await readFile(enrolmentPath, 'utf8')

    await ensure()

    expect(await readFile(enrolmentPath, 'utf8')).toBe(before)
    expect(await devices()).toHaveLength(1)
  })

  it('retries after lost answers, and is one device with one key', async () => {
    let lost = 0
    const losing: Fetch = async (...request) => {
      const answer = await fetch(...request)
      if ((lost += 1) > 3) return answer
      await answer.body?.cancel()
      throw new TypeError('the connection was cut off')
    }

    expect(await ensure({ fetch: losing })).toBe(true)

    // Half of 5, 10 and 20 seconds.
    expect(pauses).toEqual([2_500, 5_000, 10_000])
    expect(await devices()).toEqual([(await readEnrolment(enrolmentPath)).device_id])
  })

  it.each([
    ['600', 600_000],
    ['900', 900_000],
    ['901', 900_000],
    ['999999', 900_000],
  ])('stays away for at most a quarter of an hour after `Retry-After: %s`', async (asked, ms) => {
    let answers = 0
    const busy: Fetch = async (...request) => {
      if ((answers += 1) > 1) return fetch(...request)
      const error = { code: 'internal', message: 'busy', request_id: 'req_1' }
      const headers = { 'content-type': 'application/json', 'retry-after': asked }
      return new Response(JSON.stringify({ error }), { status: 503, headers })
    }

    expect(await ensure({ fetch: busy })).toBe(true)

    expect(pauses).toEqual([ms])
  })

  it('reuses the key of an interrupted attempt', async () => {
    const stop = new AbortController()
    const dead: Fetch = async (...request) => {
      await (await fetch(...request)).body?.cancel()
      stop.abort()
      throw new TypeError('killed')
    }
    expect(await ensure({ fetch: dead, stop: stop.signal })).toBe(false)
    expect(await readdir(agentDir)).toEqual(['enrolment.json.key'])
    const key = await readDeviceKey(enrolmentPath)

    expect(await ensure()).toBe(true)

    expect(await readDeviceKey(enrolmentPath)).toEqual(key)
    expect(await devices()).toHaveLength(1)
  })

  it('refuses a server with another root than the token pins', async () => {
    const [secret = '', ...rest] = (await createToken()).token.split('.')
    const pin = rest[1]?.replace(/^./, (first) => (first === '0' ? '1' : '0'))
    await writeToken([secret, rest[0], pin, ...rest.slice(2)].join('.'))
    const stop = new AbortController()
    const once: Fetch = async (...request) => {
      stop.abort()
      return fetch(...request)
    }

    expect(await ensure({ fetch: once, stop: stop.signal })).toBe(false)

    await expect(stat(enrolmentPath)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it.each<[string, string, () => unknown]>([
    ['ERR_ENROLMENT_REFUSED', 'used up', () => ensureWithAnother()],
    ['ERR_ENROLMENT_REFUSED', 'no token', () => writeToken('pal_enr_x')],
    ['ERR_ENROLMENT_INVALID', 'open to others', () => chmod(enrolmentTokenPath, 0o644)],
    [
      'ERR_ENROLMENT_INVALID',
      'in a directory where others write',
      () => chmod(dirname(enrolmentTokenPath), 0o777),
    ],
    [
      'ERR_ENROLMENT_INVALID',
      'behind a link',
      async () => {
        const link = `${enrolmentTokenPath}.link`
        await symlink(enrolmentTokenPath, link)
        enrolmentTokenPath = link
      },
    ],
    [
      'ERR_ENROLMENT_INVALID',
      'beside a key that others can read',
      async () => {
        await mkdir(agentDir, { recursive: true, mode: 0o700 })
        await writeFile(keyFileOf(enrolmentPath), '{}', { mode: 0o644 })
      },
    ],
  ])('gets %s when its token is %s', async (code, _title, arrange) => {
    await arrange()

    await expect(ensure()).rejects.toMatchObject({ code })

    await expect(stat(enrolmentPath)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(pauses).toEqual([])
  })

  /** Another machine uses up the token. */
  async function ensureWithAnother(): Promise<void> {
    const former = enrolmentPath
    agentDir = join(await temporaryDirectory(), 'agent')
    enrolmentPath = join(agentDir, 'enrolment.json')
    await ensure()
    keptEnrolmentSchema.parse(JSON.parse(await readFile(enrolmentPath, 'utf8')))
    deviceKeySchema.parse(JSON.parse(await readFile(keyFileOf(enrolmentPath), 'utf8')))
    enrolmentPath = former
    agentDir = dirname(former)
  }
})
