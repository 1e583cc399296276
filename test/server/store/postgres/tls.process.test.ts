import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../../../bench/src/process/free-port.ts'
import { parseDatabaseUrl } from '../../../../server/src/store/postgres/database-url.ts'
import {
  openPostgresStore,
  withConnection,
} from '../../../../server/src/store/postgres/open-postgres-store.ts'
import {
  createCluster,
  giveToPostgres,
  startCluster,
  stopCluster,
  type Cluster,
} from '../../postgres/cluster.ts'
import { hasPostgres, place } from '../../postgres/test-postgres.ts'
import { makeCertificate } from '../../operations/tls/make-certificate.ts'

/** Another name of this machine. The certificate is for `localhost` and 127.0.0.1. */
const UNNAMED = '127.0.0.2'

describe.skipIf(!hasPostgres())('TLS to PostgreSQL', () => {
  let cluster: Cluster
  let port: number
  let directory: string
  const fileOf = (name: string) => join(directory, name)

  beforeAll(async () => {
    const [binaries, parent] = place()
    directory = join(parent, 'tls')
    await createCluster(binaries, directory)
    const authority = makeCertificate({ name: 'an authority' })
    const issued = makeCertificate({ name: 'localhost', authority })
    writeFileSync(fileOf('ca.pem'), authority.cert)
    writeFileSync(fileOf('other-ca.pem'), makeCertificate({ name: 'another authority' }).cert)
    writeFileSync(fileOf('server.pem'), issued.cert)
    writeFileSync(fileOf('server.key'), issued.key)
    for (const name of ['server.pem', 'server.key']) giveToPostgres(fileOf(name))
    // In its file, because settings of the command line cannot be changed later.
    appendFileSync(fileOf('data/postgresql.conf'), 'ssl = on\n')
    port = await freePort()
    cluster = await startCluster(binaries, directory, {
      listen_addresses: `127.0.0.1,${UNNAMED}`,
      port: String(port),
      ssl_cert_file: fileOf('server.pem'),
      ssl_key_file: fileOf('server.key'),
    })
  })
  afterAll(() => stopCluster(cluster))

  const urlOf = (host: string, parameters: Record<string, string>) =>
    `postgres://palisade@${host}:${port}/postgres?${new URLSearchParams(parameters).toString()}`

  /** Whether the connection is encrypted; throws without a connection. */
  async function isEncrypted(host: string, parameters: Record<string, string>): Promise<boolean> {
    const address = parseDatabaseUrl(urlOf(host, parameters))
    const [row] = await withConnection(address, { mayTakeLong: false }, (connection) =>
      connection.execute('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'),
    )
    return row?.['ssl'] === 't'
  }

  it('is used by a store if certificate and name are valid', async () => {
    const parameters = { sslmode: 'verify-full', sslrootcert: fileOf('ca.pem') }

    const store = await openPostgresStore(urlOf('localhost', parameters))

    await store.transaction((writer) => writer.secrets.insert('s', new Uint8Array(1)))
    expect(await store.read((reader) => reader.secrets.find('s'))).not.toBeNull()
    await store.close()
    expect(await isEncrypted('localhost', parameters)).toBe(true)
  })

  it.each(['verify-full', 'require'])('verifies an address like a name: %s', async (sslmode) => {
    const parameters = { sslmode, sslrootcert: fileOf('ca.pem') }

    expect(await isEncrypted('127.0.0.1', parameters)).toBe(true)
    await expect(isEncrypted(UNNAMED, parameters)).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    })
  })

  it('is verified by default for a remote host', async () => {
    await expect(isEncrypted(UNNAMED, { sslrootcert: fileOf('ca.pem') })).rejects.toMatchObject({
      cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    })
  })

  it('does not verify the name with verify-ca, but always the authority', async () => {
    const mode = { sslmode: 'verify-ca' }

    expect(await isEncrypted(UNNAMED, { ...mode, sslrootcert: fileOf('ca.pem') })).toBe(true)
    await expect(
      isEncrypted(UNNAMED, { ...mode, sslrootcert: fileOf('other-ca.pem') }),
    ).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  })

  it.each(['verify-full', 'require'])('refuses an unknown authority: %s', async (sslmode) => {
    for (const trust of [{ sslrootcert: fileOf('other-ca.pem') }, {}])
      await expect(isEncrypted('localhost', { sslmode, ...trust })).rejects.toMatchObject({
        code: 'ERR_STORE_UNAVAILABLE',
        cause: { code: expect.stringMatching(/^(UNABLE_TO|SELF_SIGNED|CERT_)/) },
      })
  })

  it('is off when disabled, and on the local machine by default', async () => {
    expect(await isEncrypted(UNNAMED, { sslmode: 'disable' })).toBe(false)
    expect(await isEncrypted('localhost', {})).toBe(false)
  })

  it('is required even if the server does not support it', async () => {
    const parameters = { sslmode: 'verify-full', sslrootcert: fileOf('ca.pem') }
    const address = parseDatabaseUrl(urlOf('localhost', { sslmode: 'disable' }))
    await withConnection(address, { mayTakeLong: false }, async (connection) => {
      await connection.execute('ALTER SYSTEM SET ssl = off')
      await connection.execute('SELECT pg_reload_conf()')
    })

    await expect
      .poll(() => isEncrypted('localhost', parameters).then(String, String))
      .toMatch('does not support SSL')
  })
})
