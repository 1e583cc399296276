import { renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import type { Certificate } from '../../../../server/src/operations/tls/certificate.ts'
import {
  warnOfExpiry,
  watchCertificate,
} from '../../../../server/src/operations/tls/watch-certificate.ts'
import { captureLog } from '../log/log-lines.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { makeCertificate, type Issued } from './make-certificate.ts'

const FIRST = makeCertificate({ name: 'first' })
const SECOND = makeCertificate({ name: 'second' })

function watch(lookEveryMs: number) {
  const directory = temporaryDirectory()
  const files = { certificate: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  const put = ({ cert, key }: Pick<Issued, 'cert' | 'key'>) => {
    for (const [path, text] of [
      [files.key, key],
      [files.certificate, cert],
    ] as const) {
      writeFileSync(`${path}.new`, text, { mode: 0o600 })
      renameSync(`${path}.new`, path)
    }
  }
  let touched = Date.now()
  /** Resolves after the first check, which sets the baseline for changes. */
  const touch = () => {
    touched += 1000
    utimesSync(files.certificate, new Date(), new Date(touched))
  }
  put(FIRST)
  const used: Certificate[] = []
  const log = captureLog()
  const watching = watchCertificate(files, {
    log: createLog({ level: 'info', stream: log.stream }),
    now: () => new Date(),
    use: (certificate) => used.push(certificate),
    lookEveryMs,
  })
  onTestFinished(() => watching.stop())
  return { put, touch, used, log, watching }
}

it('reloads a renewed certificate', async () => {
  const { put, touch, used } = watch(20)
  put(SECOND)

  const lastUsed = () => {
    touch()
    return used.at(-1)?.cert
  }
  await expect.poll(lastUsed).toBe(SECOND.cert)
})

it('keeps the old certificate while the files are invalid, and takes the next valid one', () => {
  const { put, used, log, watching } = watch(60_000)

  put({ cert: SECOND.cert, key: FIRST.key })
  watching.reload()
  expect(used).toEqual([])
  expect(log.lines()).toEqual([
    expect.objectContaining({
      level: 50,
      problems: [expect.stringContaining('does not belong to')],
      msg: 'the new certificate cannot be used; the old one stays in use',
    }),
  ])

  put(SECOND)
  watching.reload()
  expect(used.map(({ cert }) => cert)).toEqual([SECOND.cert])
})

it('warns two weeks before expiry, and not earlier', () => {
  const log = captureLog()
  const certificate = { ...FIRST, expiresAt: new Date('2026-12-05T00:00:00Z') }
  const settings = { level: 'info', stream: log.stream }

  warnOfExpiry(createLog(settings), certificate, new Date('2026-11-20T00:00:00Z'))
  expect(log.lines()).toEqual([])
  warnOfExpiry(createLog(settings), certificate, new Date('2026-11-21T00:00:01Z'))
  expect(log.lines()).toEqual([expect.objectContaining({ level: 40 })])
})
