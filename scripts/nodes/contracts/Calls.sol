// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

/// A contract that anybody can end.
contract Child {
    constructor() payable {}
    receive() external payable {}

    function end(address payable to) external {
        selfdestruct(to);
    }
}

/// A contract that cannot be created.
contract Refused {
    constructor() payable {
        revert("never created");
    }
}

/// Code for delegated calls.
contract Payer {
    function pay(address payable to, uint256 value) external {
        to.transfer(value);
    }
}

/// All the ways in which a contract moves coins, and in which moves are undone.
contract Calls {
    Child public last;
    Payer public immutable payer = new Payer();

    receive() external payable {}

    /// Calls itself several times, and pays in the innermost call.
    function nested(uint256 depth, address payable to) public payable {
        if (depth == 0) to.transfer(msg.value);
        else this.nested{value: msg.value}(depth - 1, to);
    }

    function payAll(address payable[] calldata to) external payable {
        for (uint256 place = 0; place < to.length; place++) to[place].transfer(msg.value / to.length);
    }

    /// Pays, then fails with everything that it did.
    function fails(address payable to) public payable {
        to.transfer(msg.value);
        revert("paid for nothing");
    }

    /// One half is paid in a call that is undone, the other in one that stays.
    function halfFails(address payable to) external payable {
        try this.fails{value: msg.value / 2}(to) {} catch {}
        this.nested{value: msg.value / 4}(2, to);
    }

    /// A creation that is undone inside a transaction that succeeds.
    function createRefused() external payable {
        try new Refused{value: msg.value}() {} catch {}
    }

    function create() external payable returns (Child) {
        last = new Child{value: msg.value}();
        return last;
    }

    function createAt(bytes32 salt) external payable {
        last = new Child{salt: salt, value: msg.value}();
    }

    function endLast(address payable to) external {
        last.end(to);
    }

    /// After Cancun only a contract of the same transaction is deleted.
    function createAndEnd(address payable to) external payable {
        Child child = new Child{value: msg.value}();
        child.end(to);
    }

    /// The coins are gone.
    function createAndEndToItself() external payable {
        Child child = new Child{value: msg.value}();
        child.end(payable(address(child)));
    }

    /// The coins stay, since the contract is older than the transaction.
    function endLastToItself() external {
        last.end(payable(address(last)));
    }

    /// Ends twice: the second time with what came after the first.
    function createAndEndTwice(address payable to) external payable {
        Child child = new Child{value: msg.value / 2}();
        child.end(to);
        payable(address(child)).transfer(msg.value / 4);
        child.end(to);
    }

    /// Pays in a delegated call, whose frame names the value of its caller.
    function delegated(address payable to) external payable {
        (bool isDone, ) = address(payer).delegatecall(abi.encodeCall(Payer.pay, (to, msg.value / 2)));
        require(isDone);
    }

    /// Pays a contract that the machine itself runs.
    function payPrecompile() external payable {
        (bool isDone, ) = address(4).call{value: msg.value}("headwater");
        require(isDone);
    }

    function outOfGas() external payable {
        while (true) last = Child(payable(msg.sender));
    }
}
