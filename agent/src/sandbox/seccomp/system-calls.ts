/** The two machines that Node runs on and whose system calls are in the table. */
export type Architecture = 'x86_64' | 'aarch64'

/**
 * Numbers of the system calls that the rules name: on x86_64 (asm/unistd_64.h of the kernel) and
 * on aarch64 (asm-generic/unistd.h). null stands for a call that a machine does not have.
 */
const NUMBERS = {
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  clone: [56, 220],
  clone3: [435, 435],
  delete_module: [176, 106],
  fanotify_init: [300, 262],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  init_module: [175, 105],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioctl: [16, 29],
  ioperm: [173, null],
  iopl: [172, null],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  lookup_dcookie: [212, 18],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  perf_event_open: [298, 241],
  personality: [135, 92],
  pivot_root: [155, 41],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  request_key: [249, 218],
  setns: [308, 268],
  settimeofday: [164, 170],
  socket: [41, 198],
  socketpair: [53, 199],
  swapoff: [168, 225],
  swapon: [167, 224],
  syslog: [103, 116],
  umount2: [166, 39],
  unshare: [272, 97],
  uselib: [134, null],
  userfaultfd: [323, 282],
} as const satisfies Readonly<Record<string, readonly [number, number | null]>>

export type SystemCall = keyof typeof NUMBERS

/**
 * The newest call that was considered, `removexattrat` of Linux 6.13, with the same number on both
 * machines. The calls above it may do anything, such as mount (`open_tree_attr`).
 */
export const NEWEST_CALL = 466

/** Returns null if the machine does not have the call. */
export function systemCallNumber(call: SystemCall, architecture: Architecture): number | null {
  return NUMBERS[call][architecture === 'x86_64' ? 0 : 1]
}
