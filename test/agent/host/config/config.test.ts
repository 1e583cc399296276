import { createDeviceKey, keyFileOf } from '@palisade/client'
import { chmod, chown, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../../../agent/src/host/config/config.ts'
import { preparePrivateDirectory } from '../../../../agent/src/host/config/private-directory.ts'
import { readDeviceKey, readEnrolment } from '../../../../agent/src/sync/enrol/read-enrolment.ts'
import { AgentError } from '../../../../agent/src/host/errors.ts'
import {
  agentSocketPath,
  sharedDirectoryProblem,
  socketDirectoryProblem,
  untrustedSocketProblem,
} from '../../../../packages/client/src/agent-socket.ts'
import { createRepository } from '../../fixture/view-repository.ts'
import { removeDirectory } from '../../../remove-directory.ts'

const directory = await mkdtemp(join(tmpdir(), 'palisade-test-'))
afterAll(() => removeDirectory(directory))
const { enrolment } = createRepository()

async function problemsOf(work: () => unknown): Promise<readonly string[]> {
  try {
    await work()
  } catch (error) {
    if (error instanceof AgentError) return error.problems
    throw error
  }
  return []
}

async function fileOf(text: string, mode = 0o600): Promise<string> {
  const path = join(directory, `${Math.random()}.json`)
  await writeFile(path, text)
  await chmod(path, mode)
  return path
}

describe('the environment', () => {
  it('serves all users only on a socket that they can reach', () => {
    const shared = { PALISADE_USERS: 'all' }
    const socket = { PALISADE_AGENT_SOCKET: '/run/palisade/agent.sock' }

    expect(readConfig({ ...shared, ...socket }, '/srv').users).toBe('all')
    expect(() => readConfig(shared, '/srv')).toThrow('needs PALISADE_AGENT_SOCKET')
    expect(() => readConfig({ PALISADE_USERS: 'some' }, '/srv')).toThrow('must be `own` or `all`')
  })

  it('has a default for every setting', () => {
    expect(readConfig({ PALISADE_PROXY_PORT: '' }, '/srv')).toEqual({
      agentDir: '/srv/.palisade/agent',
      enrolmentPath: '/srv/.palisade/agent/enrolment.json',
      enrolmentTokenPath: null,
      socketPath: '/srv/.palisade/agent/agent.sock',
      proxyPort: 8421,
      dnsServers: [],
      parentProxy: null,
      localPoliciesPath: null,
      syncSchedule: '*/5 * * * *',
      hints: true,
      users: 'own',
      logLevel: 'info',
    })
  })

  it('is taken as written when it is valid', () => {
    const config = readConfig(
      {
        PALISADE_DATA_DIR: 'data',
        PALISADE_ENROLMENT: '/etc/token.json',
        PALISADE_PROXY_PORT: '0',
        PALISADE_DNS_SERVERS: '192.0.2.53, 127.0.0.1:5353,[::1]:53,::1',
        PALISADE_LOCAL_POLICIES: 'mine.json',
        PALISADE_LOG_LEVEL: 'silent',
      },
      '/srv',
    )

    expect(config).toMatchObject({
      agentDir: '/srv/data/agent',
      enrolmentPath: '/etc/token.json',
      proxyPort: 0,
      dnsServers: ['192.0.2.53', '127.0.0.1:5353', '[::1]:53', '::1'],
      localPoliciesPath: '/srv/mine.json',
    })
  })

  it('is refused with all problems at once', async () => {
    const problems = await problemsOf(() =>
      readConfig(
        {
          PALISADE_PROXY_PORT: '080',
          PALISADE_DNS_SERVERS: 'dns.test',
          PALISADE_SYNC_SCHEDULE: 'often',
          PALISADE_HINTS: 'yes',
          PALISADE_LOG_LEVEL: 'loud',
        },
        '/',
      ),
    )

    expect(problems).toHaveLength(5)
    expect(problems[0]).toBe(
      'PALISADE_PROXY_PORT: must be a port number from 0 to 65535, not `080`',
    )
  })

  it.each(['-1', '65536', '1e3', ' 80', '0x50'])('refuses the port %j', async (port) => {
    expect(await problemsOf(() => readConfig({ PALISADE_PROXY_PORT: port }, '/'))).toHaveLength(1)
  })
})

describe('the socket path', () => {
  it('moves to a short path when the data directory is long', () => {
    const long = `/data/${'x'.repeat(90)}`

    const path = agentSocketPath(long, {})

    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(100)
    expect(path.startsWith(tmpdir())).toBe(true)
    expect(agentSocketPath(`${long}/`, {})).toBe(path)
    expect(agentSocketPath(`${long}y`, {})).not.toBe(path)
  })

  it('is the one in the environment', () => {
    expect(agentSocketPath('/data', { PALISADE_AGENT_SOCKET: '/run/a.sock' })).toBe('/run/a.sock')
    expect(agentSocketPath('/data', { PALISADE_AGENT_SOCKET: '' })).toBe('/data/agent/agent.sock')
  })
})

describe('the enrolment file', () => {
  it('is read when it is private and complete', async () => {
    expect(await readEnrolment(await fileOf(JSON.stringify(enrolment)))).toEqual(enrolment)
  })

  it.each([
    ['is missing', () => join(directory, 'nothing.json'), 'does not exist; write one with'],
    ['is open to the group', () => fileOf(JSON.stringify(enrolment), 0o640), 'run `chmod 600`'],
    ['is open to the world', () => fileOf(JSON.stringify(enrolment), 0o604), 'run `chmod 600`'],
    [
      'is a symbolic link',
      async () => {
        const link = join(directory, 'link.json')
        await symlink(await fileOf(JSON.stringify(enrolment)), link)
        return link
      },
      'is a symbolic link',
    ],
    [
      'is a directory',
      async () => {
        const path = join(directory, 'directory.json')
        await mkdir(path)
        return path
      },
      'is not a regular file',
    ],
    [
      'is in a directory that others may write to',
      async () => {
        const place = join(directory, 'open')
        await mkdir(place)
        await chmod(place, 0o1777)
        return writeAt(join(place, 'enrolment.json'))
      },
      'is in a directory that others may write to',
    ],
    [
      'is below a symbolic link',
      async () => {
        const [place, link] = [join(directory, 'real'), join(directory, 'linked')]
        await mkdir(place, { mode: 0o700 })
        await writeAt(join(place, 'enrolment.json'))
        await symlink(place, link)
        return join(link, 'enrolment.json')
      },
      'is in a directory that is a symbolic link',
    ],
    ['is empty', () => fileOf(''), 'the text is empty'],
    ['repeats a member', () => fileOf('{"org":"a","org":"b"}'), '`org` stands twice'],
    ['lacks a member', () => fileOf(JSON.stringify({ ...enrolment, org: undefined })), 'org: '],
    ['has an unknown member', () => fileOf(JSON.stringify({ ...enrolment, extra: 1 })), 'extra'],
    [
      'has an invalid root',
      () => fileOf(JSON.stringify({ ...enrolment, root: '{}' })),
      'root: is not',
    ],
    [
      'has a changed root',
      () => fileOf(JSON.stringify({ ...enrolment, root: enrolment.root.replace('acme', 'acne') })),
      'signed by itself',
    ],
    [
      'has a root of another organization',
      () =>
        fileOf(
          JSON.stringify({
            ...enrolment,
            root: createRepository('', { org: 'rival' }).enrolment.root,
          }),
        ),
      'belongs to another organization',
    ],
    [
      'names another scheme',
      () => fileOf(JSON.stringify({ ...enrolment, server: 'ftp://a.test' })),
      'server',
    ],
    [
      'has a password in its address',
      () => fileOf(JSON.stringify({ ...enrolment, server: 'http://a:b@a.test' })),
      'must not hold a user or password',
    ],
  ])('is refused when it %s', async (_what, make, words) => {
    const path = await make()

    const problems = await problemsOf(() => readEnrolment(path))

    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(path)
    expect(problems[0]).toContain(words)
  })
})

/** Writes a valid enrolment to `path`. */
async function writeAt(path: string): Promise<string> {
  await writeFile(path, JSON.stringify(enrolment), { mode: 0o600 })
  return path
}

describe('the key file', () => {
  const key = createDeviceKey()
  const beside = async (text: string, mode = 0o600): Promise<string> => {
    const path = await fileOf(JSON.stringify(enrolment))
    await rm(keyFileOf(path), { force: true })
    await writeFile(keyFileOf(path), text, { mode })
    return path
  }

  it('is read beside the enrolment when it is private and complete', async () => {
    expect(await readDeviceKey(await beside(JSON.stringify(key)))).toEqual(key)
  })

  it.each<[string, () => Promise<string>, string]>([
    ['is open to others', () => beside(JSON.stringify(key), 0o644), 'run `chmod 600`'],
    ['is empty', () => beside(''), 'is not the private key'],
    ['has no private part', () => beside(JSON.stringify({ ...key, d: undefined })), 'is not the'],
    [
      'has the private part of another key',
      () => beside(JSON.stringify({ ...key, d: createDeviceKey().d })),
      'is not the private key',
    ],
  ])('is refused when it %s', async (_what, make, words) => {
    const path = await make()

    const [problem = '', ...more] = await problemsOf(() => readDeviceKey(path))

    expect(more).toEqual([])
    expect(problem).toContain(keyFileOf(path))
    expect(problem).toContain(words)
    expect(problem).not.toContain(key.d)
  })
})

describe.runIf(process.getuid?.() === 0)('a file of another user', () => {
  const nobody = 65_534

  it('is not read as the token file', async () => {
    const path = await fileOf(JSON.stringify(enrolment))
    await chown(path, nobody, nobody)

    expect(await problemsOf(() => readEnrolment(path))).toEqual([
      `enrolment file ${path}: belongs to another user`,
    ])
  })

  it('is trusted with the socket as root alone, and only where others cannot write', async () => {
    const [path, own] = [join(directory, 'shared'), process.getuid?.() ?? -1]
    await mkdir(path)
    for (const [mode, isTrusted] of [
      [0o755, own === 0],
      [0o775, false],
      [0o757, false],
    ] as const) {
      await chmod(path, mode)
      expect((await sharedDirectoryProblem(path, own)) === null).toBe(mode === 0o755)
      expect((await untrustedSocketProblem(path)) === null).toBe(isTrusted)
    }
    await chmod(path, 0o755)
    await chown(path, nobody, nobody)
    expect(await untrustedSocketProblem(path)).toContain('belongs to another user')
    expect(await sharedDirectoryProblem(path, own)).toContain('belongs to another user')
  })

  it('does not hold the socket', async () => {
    const path = join(directory, 'foreign')
    await mkdir(path, { mode: 0o700 })
    await chown(path, nobody, nobody)

    expect(await socketDirectoryProblem(path)).toBe(`\`${path}\` belongs to another user`)
    expect(await problemsOf(() => preparePrivateDirectory(path))).toHaveLength(1)
  })
})

describe('the agent directory', () => {
  it('is closed to other users, and may not be a symbolic link', async () => {
    const path = join(directory, 'wide')
    await mkdir(path, { mode: 0o755 })
    const link = join(directory, 'link')
    await symlink(path, link)

    await preparePrivateDirectory(path)

    expect(await socketDirectoryProblem(path)).toBeNull()
    expect(await problemsOf(() => preparePrivateDirectory(link))).toEqual([
      `\`${link}\` is not a directory`,
    ])
  })
})
