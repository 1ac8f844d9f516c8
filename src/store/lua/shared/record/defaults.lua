--[[ defaults – the value that each absent field of a record stands for. store/record/worker-record.ts and session-record.ts have the same, and a
test compares them. Scripts write a field only when it differs, and read it as `record.run or atStart.run`. ]]

local atStart = {
  -- Of a worker.
  mode = 'job', pool = 'default', depth = '0', token = '', run = '1', open = '0', runState = 'Idle', wait = 'any', attempt = '0', calls = '0',
  pendingCalls = '', signalsOpen = '0', steps = '0', signals = '0', results = '0', inbox = '0', isolated = '0', crashes = '0', failed = '0', onCancel = '0', data = '', wakeups = '', atOnce = '', gates = '', gateNumbers = '', steered = '', configured = '', copied = '',
  -- Of a session, in the record of its root.
  workers = '1', cancelCount = '0', retired = '0', resting = '0', score = '0', turnUs = '0', turnShare = '1 0',
}
