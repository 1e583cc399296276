import { describe, expect, it } from 'vitest'
import { chooseConnectionLimit } from '../../../../agent/src/proxy/admission/connection-limit.ts'

const limits = (soft: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\n` +
  `Max processes             96265                96265                processes\n` +
  `Max open files            ${soft}                 1048576              files\n`

describe('the limit of connections', () => {
  it.each([
    ['a large limit of open files', limits('1048576'), 12_288],
    ['a limit that cannot be read', null, 12_288],
    ['no limit', limits('unlimited'), 12_288],
    ['4,096 open files', limits('4096'), 1_792],
    ['a tiny limit', limits('64'), 16],
  ])('with %s is fixed', (_title, text, expected) => {
    expect(chooseConnectionLimit(text)).toBe(expected)
  })
})
