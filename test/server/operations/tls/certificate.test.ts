import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import {
  CertificateError,
  loadCertificate,
  type CertificateFiles,
} from '../../../../server/src/operations/tls/certificate.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { makeCertificate, type Issued } from './make-certificate.ts'

const NOW = new Date('2026-11-21T08:00:00Z')
const TERM = { from: new Date('2026-11-01T00:00:00Z'), until: new Date('2027-01-01T00:00:00Z') }
const AUTHORITY = makeCertificate({ name: 'authority', ...TERM })
const GOOD = makeCertificate({ name: 'server', authority: AUTHORITY, ...TERM })
const OTHER = makeCertificate({ name: 'other', authority: AUTHORITY, ...TERM })

function write({ cert, key }: Pick<Issued, 'cert' | 'key'>, keyMode = 0o600): CertificateFiles {
  const directory = temporaryDirectory()
  const files = { certificate: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  writeFileSync(files.certificate, cert)
  writeFileSync(files.key, key)
  chmodSync(files.key, keyMode)
  return files
}

function problemsOf(files: CertificateFiles, now = NOW): readonly string[] {
  try {
    loadCertificate(files, now)
    return []
  } catch (error) {
    if (error instanceof CertificateError) return error.problems
    throw error
  }
}

it('accepts a certificate with its chain, and returns its expiry', () => {
  const cert = GOOD.cert + AUTHORITY.cert

  const loaded = loadCertificate(write({ cert, key: GOOD.key }), NOW)

  expect(loaded).toEqual({ cert, key: GOOD.key, expiresAt: new Date('2027-01-01T00:00:00Z') })
})

it.each([0o600, 0o400, 0o640, 0o440])('accepts a key with mode %o', (mode) => {
  expect(problemsOf(write(GOOD, mode))).toEqual([])
})

it.each([0o644, 0o604, 0o660, 0o666, 0o777])('refuses a key with mode %o', (mode) => {
  expect(problemsOf(write(GOOD, mode))).toEqual([
    expect.stringMatching(/is readable by others; run `chmod 600` on it$/),
  ])
})

it.each([
  ['that has expired', '2027-01-01T00:00:00Z', / expired on 2027-01-01T00:00:00\.000Z; renew it$/],
  ['that is not valid yet', '2026-10-31T23:59:59Z', /is not valid before .*; check the clock/],
])('refuses a certificate %s', (_title, now, problem) => {
  expect(problemsOf(write(GOOD), new Date(now))).toEqual([expect.stringMatching(problem)])
})

it.each([
  ['of another certificate', { cert: GOOD.cert, key: OTHER.key }, /does not belong to/],
  ['after its authority', { cert: AUTHORITY.cert + GOOD.cert, key: GOOD.key }, /must be the first/],
  ['that is not a key', { cert: GOOD.cert, key: GOOD.cert }, /is not a private key/],
  ['with no certificate', { cert: 'nothing', key: GOOD.key }, /is not a certificate/],
  [
    'with a broken chain',
    {
      cert: `${GOOD.cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      key: GOOD.key,
    },
    /cannot be served/,
  ],
])('refuses a key %s', (_title, pair, problem) => {
  expect(problemsOf(write(pair))).toEqual([expect.stringMatching(problem)])
})

it('lists all problems without the content of a key', () => {
  const files = write({ cert: 'nothing', key: 'in-the-key' }, 0o644)
  const problems = problemsOf(files)

  expect(problems).toHaveLength(3)
  expect(problems.join()).not.toContain('in-the-key')
  expect(problemsOf({ certificate: '/nowhere/a', key: '/nowhere/b' })).toEqual([
    '`/nowhere/a` cannot be read (ENOENT)',
    '`/nowhere/b` cannot be read (ENOENT)',
  ])
})
