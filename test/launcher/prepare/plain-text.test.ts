import { describe, expect, it } from 'vitest'
import { toPlainText } from '../../../packages/launcher/prepare/plain-text.mjs'

/** The result of a program. */
function run(program: string): unknown {
  // oxlint-disable-next-line typescript/no-implied-eval -- the test is about programs
  return (new Function(program) as () => unknown)()
}

describe('a program in ASCII', () => {
  it.each([
    ['strings', 'return "é – → 😀" + \'ﬅ\''],
    ['templates', 'return `${1}…${"ä"}\\n—`'],
    ['names', 'const größe = { straße: 1 }; return [größe.straße, Object.keys(größe)]'],
    ['patterns', 'return ["aéb".replace(/[à-ÿ]/, "_"), "😀x".replace(/^[😀-😂]/u, "_")]'],
    ['comments', '// → \n/* 😀 */ return 1'],
  ])('keeps the meaning of its %s', (_what, program) => {
    const plain = toPlainText(program)

    expect(plain).toMatch(/^[\0-\x7f]*$/)
    expect(run(plain)).toEqual(run(program))
  })
})
