import { chmod, chown, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig, type AgentConfig } from '../../../../agent/src/host/config/config.ts'
import { readParentAccess } from '../../../../agent/src/host/config/read-parent-access.ts'
import type { ParentSettings } from '../../../../agent/src/host/config/parent-settings.ts'
import { AgentError } from '../../../../agent/src/host/errors.ts'
import { makeCertificate } from '../../../server/operations/tls/make-certificate.ts'
import { temporaryDirectory } from '../../fixture/temporary-directory.ts'

const URL = 'http://proxy.test:3128'

function read(settings: Readonly<Record<string, string>>): AgentConfig['parentProxy'] {
  const variables = Object.entries(settings).map(([name, value]) => [`PALISADE_${name}`, value])
  return readConfig(Object.fromEntries(variables), '/srv').parentProxy
}

async function problemsOf(work: () => unknown): Promise<readonly string[]> {
  try {
    await work()
  } catch (error) {
    if (error instanceof AgentError && error.code === 'ERR_CONFIG_INVALID' && !error.isTransient)
      return error.problems
    throw error
  }
  return []
}

describe('the settings of a parent proxy', () => {
  it('are read into canonical form', () => {
    const settings = {
      PARENT_PROXY: 'https://Proxy.Test.:8443/',
      PARENT_PROXY_CREDENTIALS: 'credentials',
      PARENT_CA: '/etc/ca.pem',
      PARENT_NO_PROXY: 'git.test, .corp.test,*.lan.test,10.0.0.0/8',
      PARENT_RESOLVES: 'yes',
    }

    expect(read(settings)).toEqual({
      scheme: 'https',
      host: 'proxy.test',
      port: 8443,
      credentialsPath: '/srv/credentials',
      caPath: '/etc/ca.pem',
      noProxy: ['git.test', '**.corp.test', '**.lan.test', '10.0.0.0/8'],
      resolves: true,
    })
  })

  it.each([
    ['http://[2001:DB8::1]:3128', '2001:db8::1'],
    ['http://192.0.2.1:3128', '192.0.2.1'],
    [URL, 'proxy.test'],
  ])('resolve names here by default, through %s', (url, host) => {
    expect(read({ PARENT_PROXY: url })).toMatchObject({ host, port: 3128, resolves: false })
  })

  it.each([
    'proxy.test:3128',
    'socks5://proxy.test:1080',
    'http://proxy.test',
    'http://proxy.test:0',
    'http://proxy.test:65536',
    'http://proxy.test:03128',
    'http://proxy.test:3128/path',
    'http://proxy.test:3128?a=b',
    'http://proxy.test:3128#a',
    'http://:3128',
    'http://pro xy.test:3128',
    'HTTP://proxy.test:3128\r\nX: y',
  ])('refuse the URL %j', async (url) => {
    expect(await problemsOf(() => read({ PARENT_PROXY: url }))).toEqual([
      'PALISADE_PARENT_PROXY: must be `http://host:port` or `https://host:port`',
    ])
  })

  it('refuse credentials in the URL without repeating them', async () => {
    const [problem, ...more] = await problemsOf(() =>
      read({ PARENT_PROXY: 'http://alice:s3cret@proxy.test:3128' }),
    )

    expect(more).toEqual([])
    expect(problem).toContain('credentials go into the file that PALISADE_PARENT_PROXY_CREDENTIALS')
    expect(problem).not.toMatch(/alice|s3cret/)
  })

  it.each([
    ['PARENT_NO_PROXY', 'a.test,,b.test', 'must be a comma-separated list'],
    ['PARENT_NO_PROXY', '*', 'must be a comma-separated list'],
    ['PARENT_NO_PROXY', '10.0.0.0/33', 'must be a comma-separated list'],
    ['PARENT_NO_PROXY', 'http://a.test', 'must be a comma-separated list'],
    ['PARENT_RESOLVES', 'on', 'must be `yes` or `no`, not `on`'],
    ['PARENT_CA', '/etc/ca.pem', 'only with an `https://` parent'],
  ])('refuse %s=%s', async (name, value, reason) => {
    const problems = await problemsOf(() => read({ PARENT_PROXY: URL, [name]: value }))

    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(`PALISADE_${name}: `)
    expect(problems[0]).toContain(reason)
  })

  it('refuse settings without a parent, which would have no effect', async () => {
    const problems = await problemsOf(() =>
      read({ PARENT_NO_PROXY: 'a.test', PARENT_RESOLVES: 'no', PARENT_PROXY_CREDENTIALS: '/c' }),
    )

    expect(problems).toHaveLength(3)
    expect(problems[0]).toContain('only with PALISADE_PARENT_PROXY')
  })

  it.each(['127.0.0.1', 'localhost', '127.1'])('refuse the own proxy at %s', async (host) => {
    const settings = { PROXY_PORT: '8421', PARENT_PROXY: `http://${host}:8421` }

    expect(await problemsOf(() => read(settings))).toEqual([
      'PALISADE_PARENT_PROXY: is the proxy of this agent itself; name the proxy of the network',
    ])
    expect(read({ PARENT_PROXY: `http://${host}:3128` })).not.toBe(null)
  })
})

describe('the files of a parent proxy', () => {
  const settings: ParentSettings = {
    scheme: 'https',
    host: 'proxy.test',
    port: 3128,
    credentialsPath: null,
    caPath: null,
    noProxy: [],
    resolves: false,
  }
  const write = async (text: string, mode = 0o600): Promise<string> => {
    const path = join(await temporaryDirectory(), 'file')
    await writeFile(path, text)
    await chmod(path, mode)
    return path
  }

  it.each(['alice:s3cret', 'alice:s3cret\n', 'alice:s3cret\r\n'])(
    'give the credentials of %j',
    async (text) => {
      const access = await readParentAccess({ ...settings, credentialsPath: await write(text) })

      expect(access.authorization).toBe('Basic YWxpY2U6czNjcmV0')
    },
  )

  it.each<[string, () => Promise<string>, string]>([
    ['is missing', async () => '/nowhere/file', 'does not exist'],
    ['is open to the group', () => write('alice:s3cret', 0o640), 'run `chmod 600`'],
    ['is open to all', () => write('alice:s3cret', 0o604), 'run `chmod 600`'],
    [
      'is a symbolic link',
      async () => {
        const path = await write('alice:s3cret')
        await symlink(path, `${path}.link`)
        return `${path}.link`
      },
      'is a symbolic link',
    ],
    ['has no colon', () => write('s3cret'), 'one line `user:password`'],
    ['has no user', () => write(':s3cret'), 'one line `user:password`'],
    ['has two lines', () => write('alice:s3cret\nX-A: b\n'), 'one line `user:password`'],
    ['has a carriage return', () => write('alice:s3\rcret'), 'one line `user:password`'],
    ['is empty', () => write(''), 'one line `user:password`'],
    ['is long', () => write(`alice:${'x'.repeat(5_000)}`), 'is larger than'],
  ])('are refused where the credentials file %s', async (_what, make, reason) => {
    const credentialsPath = await make()

    const problems = await problemsOf(() => readParentAccess({ ...settings, credentialsPath }))

    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain('PALISADE_PARENT_PROXY_CREDENTIALS: the file ')
    expect(problems[0]).toContain(reason)
    expect(problems[0]).not.toContain('s3')
  })

  // Only root can give a file to another user.
  it.runIf(process.getuid?.() === 0)(
    'are refused where the credentials file belongs to another user',
    async () => {
      const credentialsPath = await write('alice:s3cret')
      await chown(credentialsPath, 12_345, 12_345)

      const problems = await problemsOf(() => readParentAccess({ ...settings, credentialsPath }))

      expect(problems).toEqual([
        expect.stringMatching(
          /PALISADE_PARENT_PROXY_CREDENTIALS: the file .*belongs to another user/,
        ),
      ])
    },
  )

  it('give the certificates of an authority', async () => {
    const { cert } = makeCertificate({ name: 'corporate' })

    expect((await readParentAccess({ ...settings, caPath: await write(cert) })).ca).toBe(cert)
  })

  it('are all refused at once', async () => {
    const problems = await problemsOf(async () =>
      readParentAccess({
        ...settings,
        caPath: await write('no certificate'),
        credentialsPath: await write('x'),
      }),
    )

    expect(problems.join('\n')).toMatch(
      /CREDENTIALS: the file must hold[^]*PALISADE_PARENT_CA: `.*` holds no certificate/,
    )
  })
})
