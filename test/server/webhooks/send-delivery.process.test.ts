import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { temporaryDirectory } from '../temporary-directory.ts'
import { sender } from './delivery-sender.ts'

describe('sending a delivery', () => {
  it('refuses an untrusted certificate', async () => {
    const directory = temporaryDirectory()
    const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
    const options = [
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=hooks.test',
      '-keyout',
      key,
      '-out',
      cert,
    ]
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', ...options],
      { stdio: 'ignore' },
    )
    let requests = 0
    const secure = createServer(
      { key: readFileSync(key), cert: readFileSync(cert) },
      (_, reply) => {
        requests += 1
        reply.end()
      },
    )
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void secure.close())
    const { port } = secure.address() as AddressInfo
    const { send } = sender(['127.0.0.1'], { 'hooks.test': ['127.0.0.1'] })

    const refused = { status: null, error: 'certificate' }
    expect(await send(`https://hooks.test:${port}/`)).toEqual(refused)
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect(await send(`https://hooks.test:${port}/`)).toEqual(refused)
    expect(requests).toBe(0)
  })
})
