import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BUILT_CLI } from '../../../built-programs.ts'
import { runServerCommand, startServerProcess } from '../../server-process.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { makeCertificate } from './make-certificate.ts'

const AUTHORITY = makeCertificate({ name: 'authority' })
const ISSUED = makeCertificate({ name: 'server', authority: AUTHORITY })

function prepare() {
  const root = temporaryDirectory()
  const at = (name: string) => join(root, name)
  writeFileSync(at('ca.pem'), AUTHORITY.cert)
  writeFileSync(at('cert.pem'), ISSUED.cert)
  writeFileSync(at('key.pem'), ISSUED.key, { mode: 0o600 })
  mkdirSync(at('home'))
  const settings = {
    PALISADE_DATA_DIR: at('data'),
    PALISADE_TLS_CERT: at('cert.pem'),
    PALISADE_TLS_KEY: at('key.pem'),
  }
  return { at, settings }
}

it('is trusted by the command only if NODE_EXTRA_CA_CERTS names it', async () => {
  const { at, settings } = prepare()
  const init = await runServerCommand(
    ['init', '--org', 'acme', '--owner', 'alice', '--json'],
    settings,
  )
  const { personal_token } = JSON.parse(init.stdout) as { personal_token: string }
  const server = await startServerProcess(settings)
  const login = async (env: Record<string, string>) => {
    const args = [
      'login',
      '--server',
      server.url,
      '--org',
      'acme',
      '--username',
      'alice',
      '--token-stdin',
    ]
    const child = spawn(process.execPath, [...BUILT_CLI, ...args], {
      env: { HOME: at('home'), ...env },
    })
    child.stdin.end(personal_token)
    const [status] = (await once(child, 'close')) as [number]
    return status
  }

  expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:/)
  expect(await login({})).not.toBe(0)
  expect(await login({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).not.toBe(0)
  expect(await login({ NODE_EXTRA_CA_CERTS: at('ca.pem') })).toBe(0)
  // The enrolment file has the https origin without further configuration.
  const out = at('device.json')
  const enrol = ['device', 'enrol', '--org', 'acme', '--server', server.url, '--out', out]
  expect((await runServerCommand(enrol, settings)).status).toBe(0)
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ server: server.url })
  expect(await server.stop('SIGTERM')).toMatchObject({ status: 0, stderr: '' })
})

it('is trusted for an OIDC issuer only if NODE_EXTRA_CA_CERTS names it', async () => {
  const { at, settings } = prepare()
  const { PALISADE_DATA_DIR } = settings
  await runServerCommand(['init', '--org', 'acme', '--owner', 'alice'], { PALISADE_DATA_DIR })
  let requests = 0
  const issuer = createServer({ cert: ISSUED.cert, key: ISSUED.key }, (_request, response) => {
    requests += 1
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => issuer.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void issuer.close())
  const iss = `https://127.0.0.1:${(issuer.address() as AddressInfo).port}`
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = `${encode({ alg: 'ES256', kid: 'k' })}.${encode({ iss, aud: 'x' })}.AAAA`
  const present = async (env: Record<string, string>) => {
    const oidc = { PALISADE_OIDC_ISSUER: iss, PALISADE_OIDC_AUDIENCE: 'x' }
    const server = await startServerProcess({ PALISADE_DATA_DIR, ...oidc, ...env })
    const headers = { authorization: `Bearer ${token}` }
    await fetch(`${server.url}/v2/orgs/acme/governance/policies`, { headers })
    await server.stop('SIGTERM')
  }

  await present({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })
  expect(requests).toBe(0)
  await present({ NODE_EXTRA_CA_CERTS: at('ca.pem') })
  expect(requests).toBeGreaterThan(0)
})

it('does not start with a key that belongs to another certificate', async () => {
  const { at, settings } = prepare()
  writeFileSync(at('key.pem'), makeCertificate({ name: 'other' }).key)

  const outcome = await runServerCommand(['start'], settings)

  expect(outcome.status).toBe(78)
  expect(outcome.stderr.trimEnd().split('\n')).toEqual([
    expect.stringContaining('does not belong to certificate'),
  ])
})
