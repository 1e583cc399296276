import { DEFAULT_EVIDENCE_SETTINGS, type UploadedRecord } from '@palisade/protocol'
import { expect, it } from 'vitest'
import { isUploaded } from '../../../../agent/src/records/upload/redact-record.ts'

const DENIALS = { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'denials' } as const
const ALLOWED: UploadedRecord = {
  time: '2026-11-21T08:00:00Z',
  point: 'proxy',
  protocol: 'connect',
  decision: 'allow',
  reason: 'rule',
  rules: [],
  request: { action: 'connect:tcp', host: 'example.com', port: 443 },
  revision: 7,
  count: 1,
}
const shadow = (decision: 'allow' | 'deny') => ({ decision, reason: 'rule' as const, rules: [] })

it.each<[string, Partial<UploadedRecord>, boolean]>([
  ['an allow', {}, false],
  ['a denial', { decision: 'deny', reason: 'default_deny' }, true],
  ['an allow that only observes', { reason: 'observed' }, true],
  ['an allow that a shadow policy would deny', { shadow: shadow('deny') }, true],
  ['an allow that a shadow policy explains otherwise', { shadow: shadow('allow') }, false],
])('counts %s among the denials, or not', (_title, changes, isSent) => {
  expect(isUploaded({ ...ALLOWED, ...changes }, DENIALS, 'dev_1')).toBe(isSent)
})
