/** A system call as a seccomp program sees it: `struct seccomp_data` of linux/seccomp.h. */
export interface CallData {
  readonly arch: number
  readonly nr: number
  readonly args: readonly bigint[]
}

export interface FilterRun {
  /** The value that the program returned. */
  readonly action: number
  /** Whether it looked at the arguments; the kernel keeps the answer for a call without a look. */
  readonly readArguments: boolean
}

const INSTRUCTION_BYTES = 8
const FIRST_ARGUMENT = 16

/**
 * Executes a seccomp program as the kernel does, for the instructions whose result the kernel can
 * know in advance. Throws for others, for jumps out of the program and for unaligned loads, which
 * the kernel refuses when a program is loaded.
 */
export function runFilter(program: Buffer, call: CallData): FilterRun {
  const data = encodeCall(call)
  let accumulator = 0
  let readArguments = false
  let at = 0
  for (;;) {
    if (at + INSTRUCTION_BYTES > program.length) throw new Error('the program has no answer')
    const code = program.readUInt16LE(at)
    const [jt, jf] = [program.readUInt8(at + 2), program.readUInt8(at + 3)]
    const k = program.readUInt32LE(at + 4)
    at += INSTRUCTION_BYTES
    const branch = (holds: boolean): void => {
      at += (holds ? jt : jf) * INSTRUCTION_BYTES
    }
    switch (code) {
      case 0x20:
        if (k % 4 !== 0) throw new Error(`the load at ${k} is not aligned`)
        accumulator = data.readUInt32LE(k)
        readArguments ||= k >= FIRST_ARGUMENT
        break
      case 0x54:
        accumulator = (accumulator & k) >>> 0
        break
      case 0x05:
        at += k * INSTRUCTION_BYTES
        break
      case 0x15:
        branch(accumulator === k)
        break
      case 0x35:
        branch(accumulator >= k)
        break
      case 0x45:
        branch((accumulator & k) !== 0)
        break
      case 0x06:
        return { action: k, readArguments }
      default:
        throw new Error(`the instruction 0x${code.toString(16)} is unknown`)
    }
  }
}

function encodeCall({ arch, nr, args }: CallData): Buffer {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(nr, 0)
  data.writeUInt32LE(arch, 4)
  for (const [index, value] of args.entries())
    data.writeBigUInt64LE(BigInt.asUintN(64, value), FIRST_ARGUMENT + index * 8)
  return data
}
