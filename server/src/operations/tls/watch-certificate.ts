import { unwatchFile, watchFile } from 'node:fs'
import type { Log } from '../log/create-log.ts'
import {
  CertificateError,
  loadCertificate,
  type Certificate,
  type CertificateFiles,
} from './certificate.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const WARN_BEFORE_MS = 14 * DAY_MS
/** Asked by the file's times, which also works where a mounted secret is swapped by a link. */
const LOOK_EVERY_MS = 10_000

export interface CertificateWatch {
  /** Reads the files now. */
  reload(): void
  stop(): void
}

/**
 * Hands over a new certificate when the files change. Files that cannot be served (half of a
 * renewal, say) are reported and the old certificate stays.
 */
export function watchCertificate(
  files: CertificateFiles,
  options: {
    readonly log: Log
    readonly now: () => Date
    readonly use: (certificate: Certificate) => void
    readonly lookEveryMs?: number
  },
): CertificateWatch {
  const { log, now, use, lookEveryMs = LOOK_EVERY_MS } = options
  const reload = (): void => {
    try {
      const certificate = loadCertificate(files, now())
      use(certificate)
      log.info({ expires_at: certificate.expiresAt.toISOString() }, 'new certificate in use')
      warnOfExpiry(log, certificate, now())
    } catch (error) {
      const problems = error instanceof CertificateError ? error.problems : [String(error)]
      log.error({ problems }, 'the new certificate cannot be used; the old one stays in use')
    }
  }
  const paths = [files.certificate, files.key]
  for (const path of paths) watchFile(path, { persistent: false, interval: lookEveryMs }, reload)
  return {
    reload,
    stop() {
      for (const path of paths) unwatchFile(path, reload)
    },
  }
}

/** Says so in the log when the certificate has two weeks or less to live. */
export function warnOfExpiry(log: Log, { expiresAt }: Certificate, now: Date): void {
  if (expiresAt.getTime() - now.getTime() < WARN_BEFORE_MS)
    log.warn({ expires_at: expiresAt.toISOString() }, 'the certificate is about to expire')
}
