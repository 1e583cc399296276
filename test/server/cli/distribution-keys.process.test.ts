import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { readPassphrase } from '../../../server/src/cli/passphrase.ts'
import { writePrivateFile } from '../../../server/src/cli/private-file.ts'
import { decryptRootKey } from '../../../server/src/views/keys/root-key-file.ts'
import { runServerCommand, type Outcome } from '../server-process.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const PASSPHRASE = 'correct horse battery staple'

interface Status {
  readonly role: string
  readonly kid: string
  readonly on_server: boolean
  readonly due: string
}

describe('palisade-server keys, for keys that sign policies,', () => {
  let settings: { PALISADE_DATA_DIR: string }
  let directory: string
  let passphraseFile: string

  beforeEach(async () => {
    directory = temporaryDirectory()
    settings = { PALISADE_DATA_DIR: join(directory, 'data') }
    passphraseFile = join(directory, 'passphrase')
    writeFileSync(passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 })
  })

  const attempt = (...args: string[]): Promise<Outcome> =>
    runServerCommand(['keys', ...args], settings)

  async function run<T>(...args: string[]): Promise<T> {
    const { status, stdout, stderr } = await attempt(...args, '--json')
    expect(`${status} ${stderr}`, args.join(' ')).toBe('0 ')
    return JSON.parse(stdout) as T
  }

  it('export the root key, rotate with it, and sign the next root', async () => {
    const init = await runServerCommand(['init', '--org', 'acme', '--owner', 'alice'], settings)
    expect(init.stdout).toContain('palisade-server keys export-root --org acme --out FILE')
    const of = ['--org', 'acme', '--passphrase-file', passphraseFile]
    const file = join(directory, 'root.pem')
    const next = join(directory, 'next.pem')

    const { kid } = await run<{ kid: string }>('export-root', ...of, '--out', file)

    expect(statSync(file).mode & 0o777).toBe(0o600)
    const pem = readFileSync(file, 'utf8')
    const { d = '' } = createPrivateKey({ key: pem, passphrase: PASSPHRASE }).export({
      format: 'jwk',
    })
    expect(d).toHaveLength(43)
    // One key of 256 decrypts to a valid padding, and then to nothing that can be decoded.
    const open = () => createPrivateKey({ key: pem, passphrase: 'another one' })
    expect(open).toThrow(/decrypt|decoder/i)
    for (const name of readdirSync(settings.PALISADE_DATA_DIR))
      expect(readFileSync(join(settings.PALISADE_DATA_DIR, name)).includes(d), name).toBe(false)

    const without = await attempt('rotate', '--role', 'online', '--org', 'acme')
    expect(without).toMatchObject({ status: 1 })
    expect(without.stderr).toContain('write `--root-key FILE`')

    expect(await run('sign-root', ...of, '--root-key', file)).toMatchObject({ version: 2 })
    const all = ['rotate', ...of, '--role', 'root', '--root-key', file, '--out', next]
    expect(await run(...all, '--compromised')).toMatchObject({
      keys: [{ role: 'root' }, { role: 'targets' }, { role: 'online' }],
      root_version: 3,
      views: { signed: 0, refused: [] },
    })

    const { data } = await run<{ data: Status[] }>('status')
    expect(data).toMatchObject([
      { role: 'root', on_server: false, due: 'nothing' },
      { role: 'targets', on_server: true },
      { role: 'online', on_server: true },
    ])
    expect(data[0]?.kid).not.toBe(kid)
    const former = await attempt('sign-root', ...of, '--root-key', file)
    expect(former).toMatchObject({ status: 1, stdout: '' })
    expect(former.stderr).toContain('another key than the root key of `acme`')
    expect(await run('sign-root', ...of, '--root-key', next)).toMatchObject({ version: 4 })
    const table = (await attempt('status')).stdout
    expect(table).toMatch(/^ORGANIZATION +ROLE +KEY +CREATED +EXPIRES +KEPT +DUE\n/)
    expect(table).toMatch(new RegExp(`\nacme +root +${data[0]?.kid} +\\S+ +\\S+ +apart +next root`))
  })

  it('name the possible keys for ambiguous arguments', async () => {
    const { status, stderr } = await attempt('rotate', 'access-token', '--role', 'online')

    expect(status).toBe(2)
    expect(stderr).toContain('write `access-token`, or `--role` with `--org`')
  })
})

describe('a passphrase', () => {
  const file = () => join(temporaryDirectory(), 'passphrase')
  const write = (text: string, mode = 0o600): string => {
    const path = file()
    writeFileSync(path, text, { mode })
    return path
  }

  it('is read from a file that is private to its user', async () => {
    const path = write(`${PASSPHRASE}\n`)
    expect(await readPassphrase(path, { isNew: true })).toBe(PASSPHRASE)
    chmodSync(path, 0o640)
    await expect(readPassphrase(path, { isNew: false })).rejects.toThrow(/run `chmod 600` on it/)
  })

  it('must be long when it is new', async () => {
    const path = write('fifteen letters')
    await expect(readPassphrase(path, { isNew: true })).rejects.toThrow(/at least 16 characters/)
    expect(await readPassphrase(path, { isNew: false })).toBe('fifteen letters')
  })

  it('must be in a file where there is no terminal', async () => {
    await expect(readPassphrase(undefined, { isNew: true })).rejects.toThrow(
      /write `--passphrase-file FILE`/,
    )
  })
})

describe('a key file', () => {
  it('never overwrites a file', () => {
    const path = join(temporaryDirectory(), 'root.pem')
    writeFileSync(path, 'mine')

    expect(() => writePrivateFile(path, 'yours')).toThrow(/the file exists already/)
    expect(readFileSync(path, 'utf8')).toBe('mine')
  })

  it('is refused without encryption, with another kind of key, or with a wrong passphrase', () => {
    const about = { org: 'acme', created_at: '2026-11-21T08:00:00.000Z' }
    const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc' } as const
    const passphrase = PASSPHRASE
    const { privateKey } = generateKeyPairSync('ed25519')
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const good = privateKey.export({ ...encrypted, passphrase }).toString()

    expect(decryptRootKey(good, passphrase, about)).toMatchObject({ org: 'acme', role: 'root' })
    expect(decryptRootKey(good, 'another one', about)).toBeNull()
    for (const pem of [
      privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      other.export({ ...encrypted, passphrase }).toString(),
      '',
      good.slice(0, 90),
    ])
      expect(decryptRootKey(pem, passphrase, about)).toBeNull()
  })
})
